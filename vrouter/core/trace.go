package core

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// Step is one step of a decision: Step is one of this package's constants, vr_trace.h says what A and B are.
type Step struct{ Step, A, B uint64 }

// Trace is what a tracing mover recorded of a packet.
type Trace struct {
	Time     time.Duration // since the machine started
	Fabric   bool          // received from the fabric, not from a port
	Ifindex  uint32
	Length   uint32 // of the whole frame
	GSOSize  uint32
	Steps    []Step
	Head     []byte // the frame's beginning
	Out      []byte // the frame as it was left; live ones have none
	TookOver bool   // whether it would have been sent
}

// TraceFilter says which live packets are traced; zeros mean any. It is struct vr_trace_filter.
type TraceFilter struct {
	Host   Addr   // an address, of the inner packet or the outer
	Vif    uint32 // packets from this vif, and from the fabric to it
	Family uint32 // of the host, 4 or 6
}

// traceLog is struct vr_trace_log.
type traceLog struct {
	Time                                                uint64
	Fabric, Ifindex, Length, GSOSize, HeadLength, Count uint32
	Steps                                               [160]Step
	Head                                                [128]byte
}

// SizeTraceLog is the size that C gives it, in bytes.
const SizeTraceLog = 32 + 160*24 + 128

// ReadTrace reads a record of one packet.
func ReadTrace(sample []byte) (Trace, error) {
	var log traceLog
	if err := binary.Read(bytes.NewReader(sample), binary.LittleEndian, &log); err != nil {
		return Trace{}, fmt.Errorf("reading a trace of %d bytes: %w", len(sample), err)
	}
	t := Trace{
		Time: time.Duration(log.Time), Fabric: log.Fabric != 0, Ifindex: log.Ifindex, Length: log.Length, GSOSize: log.GSOSize,
		Head: log.Head[:min(int(log.HeadLength), len(log.Head))],
	}
	t.Steps = append(t.Steps, log.Steps[:min(int(log.Count), len(log.Steps))]...)
	return t, nil
}
