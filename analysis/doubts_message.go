package analysis

import (
	"fmt"

	"windtunnel/result"
)

// joinedBy is by how much a segment's mean payload may exceed the message before
// the messages count as joined.
const joinedBy = 1.01

// joinedMessages doubts a cell whose messages were to leave one by one (no-delay,
// shorter than a segment) and did not: while the congestion window is full, TCP
// fills the last segment that waits with the next message (tcp_sendmsg_locked in
// net/ipv4/tcp.c), and the cell then measures full segments.
func joinedMessages(c Cell, trials []result.Trial) (result.Doubt, bool) {
	message := float64(c.Spec.Load.Int("message"))
	if !c.Spec.Load.Bool("nodelay") || message == 0 {
		return result.Doubt{}, false
	}
	bytes, segments, mss := 0.0, 0.0, 0
	for _, t := range trials {
		for _, p := range t.Pairs {
			for _, sender := range p.Senders() {
				bytes += float64(sender.Bytes)
			}
		}
	}
	for connection := range connections(trials) {
		segments += float64(connection.SegmentsOut)
		mss = max(mss, connection.MSS)
	}
	if segments == 0 || message >= float64(mss) || bytes/segments <= joinedBy*message {
		return result.Doubt{}, false
	}
	return result.Doubt{Cell: c.Spec.Name, Kind: "joined-messages", Says: fmt.Sprintf(
		"messages of %.0f bytes were to leave one by one, but segments hold %.0f on the mean: TCP joined them while it was bound by losses",
		message, bytes/segments)}, true
}
