package result

// Queueing is what a cell asks of its wire's receive queues and of the CPUs that do the network's work.
type Queueing struct {
	VMQ     bool `json:"vmq"`            // a receive queue for each adapter, by its MAC
	Receive bool `json:"spread_receive"` // received packets are spread over CPUs by their flows
	Send    bool `json:"spread_send"`    // so is a switch's work for what containers send
}

// Spreads tells whether it is about work on several CPUs.
func (q *Queueing) Spreads() bool { return q != nil && (q.Receive || q.Send) }

// Words is how a report names it, "" for nil.
func (q *Queueing) Words() string {
	if q == nil {
		return ""
	}
	text := "VMQ off, spread "
	if q.VMQ {
		text = "VMQ on, spread "
	}
	switch {
	case q.Receive && q.Send:
		return text + "both"
	case q.Receive:
		return text + "receive"
	case q.Send:
		return text + "send"
	}
	return text + "none"
}
