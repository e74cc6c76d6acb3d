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
	for i := range t.Drops {
		t.Drops[i].Add(other.Drops[i])
	}
}

// Received is what the hooks saw.
func (t *Totals) Received() Count {
	sum := t.ReceivedVif
	sum.Add(t.ReceivedFabric)
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
