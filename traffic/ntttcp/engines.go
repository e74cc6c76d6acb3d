package ntttcp

import (
	"bytes"
	"fmt"
	"net"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/datagram"
	"windtunnel/traffic/stream"
)

// engine takes connections over, also when it fails. They are of threads that belong
// on one CPU, or on none (below 0), and get so many hot ones.
func (t *Test) engine(conns []net.Conn, cpu, hot int) (engine, error) {
	if t.UDP {
		return t.datagrams(conns, cpu, hot)
	}
	return t.streams(conns, cpu, hot)
}

// pacedBurst is how much a paced sender may send at once, in messages.
const pacedBurst = 2

func (t *Test) streams(conns []net.Conn, cpu, hot int) (engine, error) {
	flows := make([]stream.Flow, len(conns))
	for i, conn := range conns {
		flows[i] = stream.Flow{Conn: conn, Role: t.Role}
	}
	e, err := stream.NewEngine(flows, stream.Config{
		Message: t.Message, Threads: hot, CPUs: t.cpus(cpu),
		NoDelay: t.NoDelay, BitsPerSecond: t.BitsPerSecond, Burst: t.burst(),
		LimitCalls: t.Messages, LimitEach: true, LimitReceivers: true,
		Receive: t.receiveLength(),
		Payload: bytes.Repeat([]byte{t.fill()}, t.Message),
		Silence: -1, // the tools wait until the time is over
	})
	if err != nil {
		return nil, fmt.Errorf("readying %d streams: %w", len(conns), err)
	}
	return streamEngine{e, t.Role == traffic.Send}, nil
}

// receiveLength is what one call may take; 0: the engine's choice.
func (t *Test) receiveLength() int {
	if t.Role == traffic.Send || t.AnyLength {
		return 0
	}
	return t.Message
}

func (t *Test) burst() int {
	if t.BitsPerSecond == 0 {
		return 0
	}
	return pacedBurst * t.Message
}

type streamEngine struct {
	*stream.Engine
	sends bool
}

func (e streamEngine) read() reading {
	now := e.Counts()
	if e.sends {
		now = e.Snapshot()
	}
	r := reading{flows: make([]flow, len(now.Flows)), spent: now.Send}
	r.spent.Add(now.Receive) // of one role there are no threads
	for i, f := range now.Flows {
		r.flows[i] = flow{bytes: f.Bytes, calls: f.Calls}
		if f.TCP != nil {
			r.flows[i].rtt, r.flows[i].minRTT, r.flows[i].busy = f.TCP.RTT, f.TCP.MinRTT, f.TCP.Busy
			r.flows[i].rwnd, r.flows[i].sndbuf = f.TCP.RwndLimited, f.TCP.SndbufLimited
		}
	}
	return r
}

// datagrams have no header in either tool: nothing but their bytes is counted.
func (t *Test) datagrams(conns []net.Conn, cpu, hot int) (engine, error) {
	flows := make([]datagram.Flow, len(conns))
	for i, conn := range conns {
		flows[i] = datagram.Flow{Conn: conn.(*net.UDPConn), Role: t.Role, ID: uint32(i)}
	}
	offload := "off" // as the tools: a datagram a call
	if t.Coalesce || t.Datagram > 0 {
		offload = "auto"
	}
	e, err := datagram.NewEngine(flows, datagram.Config{
		Message: t.datagram(), Segmentation: offload, Aggregation: offload,
		Threads: hot, CPUs: t.cpus(cpu),
		BitsPerSecond: t.BitsPerSecond, LimitPackets: t.packets(), LimitEach: true,
		Payload:  bytes.Repeat([]byte{t.fill()}, t.datagram()),
		Patience: patience, Buffer: t.buffer(), GoesOn: t.GoesOn,
	})
	if err != nil {
		return nil, fmt.Errorf("readying %d UDP sockets: %w", len(conns), err)
	}
	return datagramEngine{e, t.toolCalls}, nil
}

// patience is how long a UDP socket may refuse a datagram.
const patience = 30 * time.Second

// packets are the datagrams of a thread's messages; 0: no bound.
func (t *Test) packets() uint64 {
	each := (t.Message + t.datagram() - 1) / t.datagram()
	return t.Messages * uint64(each)
}

type datagramEngine struct {
	*datagram.Engine
	calls func(datagram.FlowCounts) uint64
}

// toolCalls is how many calls the tools would have made for what a flow has moved.
// They know no batches: a datagram is a call, but that a sender's may hand over
// several to be cut (-uso), and a receiver's may take several that were joined (-uro).
func (t *Test) toolCalls(f datagram.FlowCounts) uint64 {
	switch {
	case t.Role == traffic.Send && t.Datagram > 0:
		return f.Bytes / uint64(t.Message)
	case t.Role == traffic.Receive && t.Coalesce:
		return f.Calls
	}
	return f.Packets
}

func (e datagramEngine) read() reading {
	now := e.Snapshot()
	r := reading{flows: make([]flow, len(now.Flows)), spent: now.Send}
	r.spent.Add(now.Receive)
	for i, f := range now.Flows {
		r.flows[i] = flow{bytes: f.Bytes, calls: e.calls(f), packets: f.Packets, longer: f.Longer, away: f.Away, awayWhy: f.AwayWhy}
	}
	return r
}

var _, _ engine = streamEngine{}, datagramEngine{}

// buffer is this end's buffer of a UDP socket; 0: the engine's choice, which
// loses less than the system's default.
func (t *Test) buffer() int {
	if t.Role == traffic.Send {
		return max(t.SendBuffer, 0)
	}
	return max(t.ReceiveBuffer, 0)
}

func (t *Test) fill() byte {
	if t.Fill != 0 {
		return t.Fill
	}
	return tcpFill
}
