package result

import (
	"fmt"
	"slices"
)

// Queueing is what a cell asks of its wire's receive queues and of the CPUs that do the network's work.
type Queueing struct {
	VMQ     bool `json:"vmq"`            // a receive queue for each adapter, by its MAC
	Receive bool `json:"spread_receive"` // received packets are spread over CPUs by their flows
	Send    bool `json:"spread_send"`    // so is a switch's work for what containers send
	// Hosts are how real hosts' interfaces were set for it; none: the nodes are simulated, or nothing was set.
	Hosts []HostQueueing `json:"hosts,omitempty"`
}

// HostQueueing is how a real host's interface uses its queues in a cell.
type HostQueueing struct {
	Node       string `json:"node"`
	Device     string `json:"device"`
	Queues     int    `json:"queues,omitempty"`      // by which it receives; absent: as found
	SendQueues int    `json:"send_queues,omitempty"` // absent: as found
	Receive    string `json:"receive,omitempty"`     // what spreads received packets over CPUs: ReceiveBy*; absent: nothing
	Send       string `json:"send,omitempty"`        // what has CPUs send by queues of their own: SendByXPS; absent: nothing
}

// Means by which work of real hosts is spread (Documentation/networking/scaling.rst).
const (
	ReceiveByTable = "table" // RSS
	ReceiveByRules = "rules" // by destination, which is no spread of one adapter's
	ReceiveByRPS   = "rps"
	SendByXPS      = "xps"
)

// BehindQueues tells whether a node's received packets are spread behind its queues, whatever queue they came by.
func (q *Queueing) BehindQueues(node string) bool {
	return q != nil && slices.ContainsFunc(q.Hosts, func(h HostQueueing) bool { return h.Node == node && h.Receive == ReceiveByRPS })
}

// Spreads tells whether it is about work on several CPUs.
func (q *Queueing) Spreads() bool { return q != nil && (q.Receive || q.Send) }

// Set is how a report names what was set of a real host's interface for it, "" if nothing was.
func (q *Queueing) Set(node string) string {
	if q == nil {
		return ""
	}
	i := slices.IndexFunc(q.Hosts, func(h HostQueueing) bool { return h.Node == node })
	if i < 0 {
		return ""
	}
	h := q.Hosts[i]
	receives := map[string]string{ReceiveByTable: " by RSS", ReceiveByRules: " by rules", ReceiveByRPS: " with RPS"}[h.Receive]
	sends := map[string]string{SendByXPS: " by XPS"}[h.Send]
	return fmt.Sprintf("%s: receives by %s%s, sends by %s%s", h.Device, numbered(h.Queues), receives, numbered(h.SendQueues), sends)
}

// numbered is a number of queues in words.
func numbered(queues int) string {
	switch queues {
	case 0:
		return "the queues it has"
	case 1:
		return "1 queue"
	}
	return fmt.Sprintf("%d queues", queues)
}

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
