package result

// Way is one direction of a pair's traffic.
type Way struct {
	Sender, Receiver PairEnd
	Back             bool // from the end that was reached to the one that connected
}

// Arrived is what became of the numbered packets; nil where they have no numbers. Of
// answers only the end that asked knows which never came.
func (w Way) Arrived() *Arrived {
	if w.Sender.Asks() && w.Sender.Arrived != nil {
		return w.Sender.Arrived
	}
	return w.Receiver.Arrived
}

// Ways are the directions in which a pair's traffic flowed, the forward one
// first; at least one. sender is the end that connected: a load that flows back
// has its sender's figures at the other end, or in both ends' opposites. An end
// that was not heard of has no window, and what the other one counted keeps its way.
func Ways(sender, receiver PairEnd) []Way {
	unheard := sender.WindowSeconds > 0 && receiver.WindowSeconds == 0
	if sender.Offered == nil && (receiver.Offered != nil || unheard) {
		return []Way{{Sender: receiver, Receiver: sender, Back: true}}
	}
	forth := Way{Sender: sender, Receiver: receiver}
	if sender.Opposite == nil || receiver.Opposite == nil && !unheard {
		return []Way{forth}
	}
	back := Way{Receiver: *sender.Opposite, Back: true}
	if receiver.Opposite != nil {
		back.Sender = *receiver.Opposite
	}
	if sender.Idle() {
		return []Way{back}
	}
	return []Way{forth, back}
}

// Ways are the directions of the pair's own load.
func (p PairSample) Ways() []Way { return Ways(p.Sender, p.Receiver) }

// Receivers are the ends of the pair that took traffic, and Senders those that gave
// it: two each where the load flows both ways.
func (p PairSample) Receivers() (ends []PairEnd) {
	for _, way := range p.Ways() {
		ends = append(ends, way.Receiver)
	}
	return ends
}

// Senders: see Receivers.
func (p PairSample) Senders() (ends []PairEnd) {
	for _, way := range p.Ways() {
		ends = append(ends, way.Sender)
	}
	return ends
}
