package kernel

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"windtunnel/vrouter/core"
)

func filterRecord(f core.TraceFilter) (r traceVrTraceFilter) {
	r.Host.Hi, r.Host.Lo, r.Vif, r.Family = f.Host.Hi, f.Host.Lo, f.Vif, f.Family
	return r
}

// The programs of a watch.
const (
	watchVif    = "vr_watch_vif"
	watchFabric = "vr_watch_fabric"
)

// A Watch traces live packets: its programs stand before those that forward, at the same hooks. So
// it costs something while it is there, and nothing before and after. Close ends it.
type Watch struct {
	tracer *tracer
	fast   *fastPath // which leaves all to tc meanwhile
	reader *ringbuf.Reader
	links  []link.Link
}

// Watch begins to trace what vifs and the fabric receive, by their interfaces.
func (d *Dataplane) Watch(filter core.TraceFilter, vifs []uint32, fabric uint32) (*Watch, error) {
	if !d.tcx {
		return nil, errors.New("live packets can be traced where programs are attached by tcx only (Linux 6.6, and not --clsact)")
	}
	t, err := d.loadTracer(watchVif, watchFabric)
	if err != nil {
		return nil, err
	}
	w := &Watch{tracer: t, fast: &d.fast}
	if err := errors.Join(w.fast.watch(1), w.begin(filter, vifs, fabric)); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Watch) begin(filter core.TraceFilter, vifs []uint32, fabric uint32) (err error) {
	if err := w.tracer.maps[traceFilters].Put(uint32(0), filterRecord(filter)); err != nil {
		return fmt.Errorf("setting the filter: %w", err)
	}
	if w.reader, err = ringbuf.NewReader(w.tracer.maps[traceRing]); err != nil {
		return fmt.Errorf("opening the traces: %w", err)
	}
	for _, ifindex := range vifs {
		if err := w.attach(ifindex, w.tracer.programs[watchVif]); err != nil {
			return err
		}
	}
	return w.attach(fabric, w.tracer.programs[watchFabric])
}

func (w *Watch) attach(ifindex uint32, program *ebpf.Program) error {
	l, err := link.AttachTCX(link.TCXOptions{Interface: int(ifindex), Program: program, Attach: ebpf.AttachTCXIngress, Anchor: link.Head()})
	if err != nil {
		return fmt.Errorf("watching interface %d: %w", ifindex, err)
	}
	w.links = append(w.links, l)
	return nil
}

// Next waits for a packet until a time; then it gives os.ErrDeadlineExceeded.
func (w *Watch) Next(until time.Time) (core.Trace, error) {
	w.reader.SetDeadline(until)
	record, err := w.reader.Read()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return core.Trace{}, os.ErrDeadlineExceeded
	}
	if err != nil {
		return core.Trace{}, fmt.Errorf("waiting for a packet: %w", err)
	}
	return core.ReadTrace(record.RawSample)
}

// Close takes the programs away.
func (w *Watch) Close() error {
	failed := []error{w.fast.watch(-1)}
	for _, l := range w.links {
		failed = append(failed, l.Close())
	}
	if w.reader != nil {
		failed = append(failed, w.reader.Close())
	}
	w.tracer.close()
	return errors.Join(failed...)
}
