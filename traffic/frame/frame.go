// Package frame sends and counts raw Ethernet frames: UDP over IPv4 or IPv6 from
// 64 bytes to the MTU, in 1 to 1,000,000 flows, each frame numbered.
//
// A sender lets the kernel send XDP live frames, whose headers a BPF program
// writes (frame_send.bpf.c), or uses an AF_PACKET socket where the device or the
// path takes no live frames; it finds out by a probe. A receiver counts in BPF
// programs at XDP and tc (frame_sink.bpf.c), or from an AF_PACKET socket.
//
// At a port of poll mode, both are done by a process of DPDK, the tester (dpdk/), which
// has one core for all ports that it holds; there is no other way then.
//
// A rate is kept by a token bucket. A thread of live frames waits for it inside the
// kernel's loop, so it is busy all the time; one of an AF_PACKET socket sleeps.
// What the egress device refuses, because its ring is full, was not sent: it is
// Offered.Refused, and neither in Packets nor among the lost. A port of poll mode is offered such frames again: they
// count once in Refused, and in Packets when it takes them.
//
// Sizes are those of RFC 2544, section 9: the whole Ethernet frame with its FCS;
// bytes of a result are such bytes. Frames may have several sizes in turn (a mix); a frame's
// number tells its size, so a receiver checks that too. A sender's bytes are then by the mean. The window is marked in the frames: a
// sender's numbers of the window are exactly those that the receiver looks for,
// so no frame at the window's edge is counted as lost.
//
// What is told: a number that never came is lost; one that came after a higher
// one of its flow is reordered; one that came again is a duplicate. A flow
// remembers a number for 32 numbers at least (1,000,000 flows), 65,504 with up to
// 1024 flows: what comes later than that is late, and whether it came
// before is not known any more. A frame of the session with a wrong length, flow or
// checksum is corrupt; one whose session number was changed is nobody's, so lost.
package frame

import (
	"windtunnel/result"
	"windtunnel/traffic"
)

// Kind is the kind of load "frame".
type Kind struct{}

var (
	_ traffic.Kind       = Kind{}
	_ traffic.Calibrator = Kind{}
	_ traffic.AtPorts    = Kind{}
)

// AtPorts says that frames can be sent and counted at ports of poll mode.
func (Kind) AtPorts() {}

// Name returns "frame".
func (Kind) Name() string { return "frame" }

// Options are the keys that frame takes in a suite's traffic block.
func (Kind) Options() []result.Option { return append([]result.Option(nil), options...) }

// Check refuses options that do not fit each other.
func (Kind) Check(load result.Options) error {
	_, err := parseLoad(load)
	return err
}
