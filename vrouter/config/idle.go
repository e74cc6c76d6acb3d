package config

import (
	"cmp"
	"time"

	"windtunnel/vrouter/core"
)

// Idle is how long flows are kept without a packet, in seconds; what is 0 has its default.
type Idle struct {
	TCPOpening     int `json:"tcp_opening,omitempty"`
	TCPEstablished int `json:"tcp_established,omitempty"`
	TCPClosing     int `json:"tcp_closing,omitempty"`
	Opening        int `json:"opening,omitempty"` // of other protocols: nobody has answered
	Established    int `json:"established,omitempty"`
	Fragments      int `json:"fragments,omitempty"`
}

// DefaultIdle: RFC 5382, section 5 asks for 2 hours and 4 minutes of established TCP at least, and RFC
// 4787, section 4.3 for 2 minutes of UDP. Fragments that are not all there within 30 seconds are given
// up by Linux (net.ipv4.ipfrag_time).
var DefaultIdle = Idle{TCPOpening: 60, TCPEstablished: 7440, TCPClosing: 10, Opening: 30, Established: 180, Fragments: 30}

// Of is how long a flow of a protocol and state may be silent.
func (i Idle) Of(key core.FlowKey, state core.FlowState) time.Duration {
	seconds := 0
	switch {
	case key.Family&core.FamilyFragment != 0:
		seconds = cmp.Or(i.Fragments, DefaultIdle.Fragments)
	case key.Protocol != core.ProtocolTCP && state == core.FlowOpening:
		seconds = cmp.Or(i.Opening, DefaultIdle.Opening)
	case key.Protocol != core.ProtocolTCP:
		seconds = cmp.Or(i.Established, DefaultIdle.Established)
	case state == core.FlowOpening:
		seconds = cmp.Or(i.TCPOpening, DefaultIdle.TCPOpening)
	case state == core.FlowEstablished:
		seconds = cmp.Or(i.TCPEstablished, DefaultIdle.TCPEstablished)
	default:
		seconds = cmp.Or(i.TCPClosing, DefaultIdle.TCPClosing)
	}
	return time.Duration(seconds) * time.Second
}
