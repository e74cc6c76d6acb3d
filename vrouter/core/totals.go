package core

// Add adds another account to this one.
func (c *Count) Add(other Count) {
	c.Packets += other.Packets
	c.Segments += other.Segments
	c.Bytes += other.Bytes
}

// Add adds another CPU's account to this one.
func (t *Totals) Add(other Totals) {
	t.ReceivedVif.Add(other.ReceivedVif)
	t.ReceivedFabric.Add(other.ReceivedFabric)
	t.Forwarded.Add(other.Forwarded)
	t.Passed.Add(other.Passed)
	t.Answered.Add(other.Answered)
	t.Flooded.Add(other.Flooded)
	t.Copies.Add(other.Copies)
	for i := range t.Drops {
		t.Drops[i].Add(other.Drops[i])
		t.CopyDrops[i].Add(other.CopyDrops[i])
	}
}

// Received is what the hooks saw.
func (t *Totals) Received() Count {
	sum := t.ReceivedVif
	sum.Add(t.ReceivedFabric)
	return sum
}

// CopiesDropped is the sum over all reasons, of what became of copies.
func (t *Totals) CopiesDropped() Count {
	var sum Count
	for _, c := range t.CopyDrops {
		sum.Add(c)
	}
	return sum
}

// Dropped is the sum over all reasons.
func (t *Totals) Dropped() Count {
	var sum Count
	for _, c := range t.Drops {
		sum.Add(c)
	}
	return sum
}

// Add adds another account of a vif to this one.
func (c *VifCount) Add(other VifCount) {
	c.Rx.Add(other.Rx)
	c.Forwarded.Add(other.Forwarded)
	c.Answered.Add(other.Answered)
	c.Tx.Add(other.Tx)
}

// Add adds another vif's losses to these.
func (d *VifDrops) Add(other VifDrops) {
	for i := range d.From {
		d.From[i].Add(other.From[i])
		d.To[i].Add(other.To[i])
	}
}

// Dropped is the sum over all reasons of what came from the vif, lost of what went to it.
func (d *VifDrops) Dropped() (dropped, lost Count) {
	for i := range d.From {
		dropped.Add(d.From[i])
		lost.Add(d.To[i])
	}
	return dropped, lost
}
