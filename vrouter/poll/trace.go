package poll

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"windtunnel/vrouter/core"
)

// The sizes of trace.h.
const (
	traced      = 4096
	watched     = 64
	tracingSize = int(unsafe.Sizeof(tracing{}))

	// MaxTraceFrame is the longest frame that Trace takes: what a buffer holds.
	MaxTraceFrame = 3840
)

// tracing is struct poll_tracing.
type tracing struct {
	Watching, _   uint32
	Filter        core.TraceFilter
	Written, Read uint64
	Length, Left  uint32
	Frame         [traced]byte
	Trial         [core.SizeTraceLog]byte
	Watched       [watched][core.SizeTraceLog]byte
}

func (p *Plane) tracing() *tracing {
	return (*tracing)(unsafe.Pointer(&p.image.shared[sharedTables-1][0]))
}

// Trace lets the process decide about a frame as if a vif (or for 0 the fabric) had received it. Nothing is
// sent, and nothing counted.
func (p *Plane) Trace(vif uint32, frame []byte) (core.Trace, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(frame) > MaxTraceFrame {
		return core.Trace{}, fmt.Errorf("a frame of %d bytes is longer than the %d that can be tried", len(frame), MaxTraceFrame)
	}
	if p.process == nil {
		return core.Trace{}, errors.New("the poll mode's process is being started anew; try again")
	}
	shared := p.tracing()
	shared.Length = uint32(copy(shared.Frame[:], frame))
	if err := p.process.ask("try %d", vif); err != nil {
		return core.Trace{}, fmt.Errorf("trying a frame of %d bytes: %w", len(frame), err)
	}
	trace, err := core.ReadTrace(shared.Trial[:])
	trace.TookOver = shared.Left > 0
	trace.Out = append(trace.Out, shared.Frame[:min(shared.Left, traced)]...)
	return trace, err
}

// A Watch traces live packets: the cores decide about each a second time, before they forward it, and
// record that. Close ends it.
type Watch struct{ shared *tracing }

// Watch begins to trace what ports and the fabric receive. There must be no other one.
func (p *Plane) Watch(filter core.TraceFilter) *Watch {
	w := &Watch{p.tracing()}
	w.shared.Filter = filter
	atomic.StoreUint64(&w.shared.Read, atomic.LoadUint64(&w.shared.Written)) // what nobody has seen of the one before
	atomic.StoreUint32(&w.shared.Watching, 1)
	return w
}

// watchTick is how often a watch looks for packets.
const watchTick = 2 * time.Millisecond

// Next waits for a packet until a time; then it gives os.ErrDeadlineExceeded.
func (w *Watch) Next(until time.Time) (core.Trace, error) {
	read := atomic.LoadUint64(&w.shared.Read)
	for atomic.LoadUint64(&w.shared.Written) == read {
		if !time.Now().Before(until) {
			return core.Trace{}, os.ErrDeadlineExceeded
		}
		time.Sleep(watchTick)
	}
	trace, err := core.ReadTrace(w.shared.Watched[read%watched][:])
	atomic.StoreUint64(&w.shared.Read, read+1)
	return trace, err
}

// Close ends it. Packets that are under way may still be recorded.
func (w *Watch) Close() error {
	atomic.StoreUint32(&w.shared.Watching, 0)
	return nil
}
