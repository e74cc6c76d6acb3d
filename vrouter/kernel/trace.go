package kernel

import (
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"windtunnel/vrouter/core"
)

// The records of a trace are as large as their reader takes them to be.
var (
	_ [core.SizeTraceLog]byte                 = [unsafe.Sizeof(traceVrTraceLog{})]byte{}
	_ [unsafe.Sizeof(core.TraceFilter{})]byte = [unsafe.Sizeof(traceVrTraceFilter{})]byte{}
)

// skbContext is struct __sk_buff of linux/bpf.h, of which BPF_PROG_TEST_RUN takes these fields.
type skbContext struct {
	_       [10]uint32
	Ifindex uint32
	_       [30]uint32
	GSOSegs uint32
	_       [2]uint32
	GSOSize uint32
	_       [3]uint32
}

// xdpContext is struct xdp_md of linux/bpf.h.
type xdpContext struct {
	Data, DataEnd, DataMeta uint32
	Ifindex, Queue, Egress  uint32
}

const xdpActionRedirect = 4 // linux/bpf.h

// What the programs answer: linux/pkt_cls.h.
const (
	actionUnspec   = 0xffffffff
	actionShot     = 2
	actionRedirect = 7
)

// A tracer is one of the tracing programs, or a pair that shares its maps.
type tracer struct {
	programs map[string]*ebpf.Program
	maps     map[string]*ebpf.Map
}

// The maps that are the tracers' own.
const (
	traceLogs    = "vr_trace_logs"
	traceRing    = "vr_traces"
	traceFilters = "vr_trace_filters"
)

func (t *tracer) close() {
	for _, p := range t.programs {
		p.Close()
	}
	for _, m := range t.maps {
		m.Close()
	}
}

// live are the maps of the running programs, by name.
func (d *Dataplane) live() map[string]*ebpf.Map {
	maps := make(map[string]*ebpf.Map)
	for _, of := range []reflect.Value{reflect.ValueOf(&d.objects.vrMaps).Elem(), reflect.ValueOf(&d.fast.objects.fastMaps).Elem()} {
		for i := range of.NumField() {
			if m, ok := of.Field(i).Interface().(*ebpf.Map); ok && m != nil {
				maps[of.Type().Field(i).Tag.Get("ebpf")] = m
			}
		}
	}
	return maps
}

// over lets programs of a specification use the live maps that it names, whatever limits these were made
// for, and gives them.
func (d *Dataplane) over(spec *ebpf.CollectionSpec) map[string]*ebpf.Map {
	live := d.live()
	for name, m := range live {
		if spec.Maps[name] == nil {
			delete(live, name)
			continue
		}
		spec.Maps[name].MaxEntries = m.MaxEntries()
	}
	return live
}

// loadTracer loads some of the tracing programs over the live tables.
func (d *Dataplane) loadTracer(programs ...string) (*tracer, error) {
	spec, err := loadTrace()
	if err != nil {
		return nil, fmt.Errorf("reading the tracing programs: %w", err)
	}
	for name := range spec.Programs { // the verifier takes its time with each
		if !slices.Contains(programs, name) {
			delete(spec.Programs, name)
		}
	}
	loaded, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: d.over(spec)})
	if err != nil {
		return nil, fmt.Errorf("loading the tracing programs: %w", err)
	}
	defer loaded.Close()
	t := &tracer{programs: make(map[string]*ebpf.Program), maps: make(map[string]*ebpf.Map)}
	for _, name := range programs {
		t.programs[name] = loaded.DetachProgram(name)
	}
	for _, name := range []string{traceLogs, traceRing, traceFilters} {
		t.maps[name] = loaded.DetachMap(name)
	}
	return t, nil
}

// tracer is the program that tries frames at one of the hooks. It is loaded when it is first needed,
// and kept.
func (d *Dataplane) tracer(name string) (*tracer, error) {
	if t := d.tracers[name]; t != nil {
		return t, nil
	}
	t, err := d.loadTracer(name)
	if err == nil {
		d.tracers[name] = t
	}
	return t, err
}

// traceWait bounds the wait for what a program that has run recorded: it is there already.
const traceWait = time.Second

// Trace runs a frame through the tracing programs as if an interface had received it. Nothing is
// sent, and nothing counted. It must run in the interface's network namespace.
func (d *Dataplane) Trace(ifindex uint32, fabric bool, frame []byte) (core.Trace, error) {
	var first core.Trace
	if _, fast := d.fast.chosen[ifindex]; fast {
		var err error
		if first, err = d.traceBy(traceFast[fabric], ifindex, frame); err != nil || first.TookOver {
			return first, err
		}
	}
	t, err := d.traceBy(traceTC[fabric], ifindex, frame)
	for _, s := range first.Steps { // all others tc says, too
		if s.Step == core.StepFast {
			t.Steps = append([]core.Step{s}, t.Steps...)
		}
	}
	return t, err
}

// The tracing programs of a hook, by whether it is the fabric's.
var (
	traceTC   = map[bool]string{false: "vr_trace_vif", true: "vr_trace_fabric"}
	traceFast = map[bool]string{false: "vr_trace_fast_vif", true: "vr_trace_fast_fabric"}
)

// isFast tells whether a tracing program is one at XDP.
func isFast(name string) bool { return name == traceFast[false] || name == traceFast[true] }

// traceBy runs a frame through one tracing program.
func (d *Dataplane) traceBy(name string, ifindex uint32, frame []byte) (core.Trace, error) {
	t, err := d.tracer(name)
	if err != nil {
		return core.Trace{}, err
	}
	reader, err := ringbuf.NewReader(t.maps[traceRing])
	if err != nil {
		return core.Trace{}, fmt.Errorf("opening the traces: %w", err)
	}
	defer reader.Close()
	last(reader, time.Now()) // what an interrupted run left
	options, took := &ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+256), Context: skbContext{Ifindex: ifindex}}, uint32(actionRedirect)
	if isFast(name) {
		options.Context, took = xdpContext{DataEnd: uint32(len(frame)), Ifindex: ifindex}, xdpActionRedirect
	}
	action, err := t.programs[name].Run(options)
	if err != nil {
		return core.Trace{}, fmt.Errorf("running the tracing program on a frame of %d bytes: %w", len(frame), err)
	}
	sample, err := last(reader, time.Now().Add(traceWait))
	if sample == nil {
		return core.Trace{}, fmt.Errorf("reading the trace: %w", err)
	}
	trace, err := core.ReadTrace(sample)
	trace.Out, trace.TookOver = options.DataOut, action == took
	return trace, err
}

// last waits for a record, and gives the last one that is there: a run that a signal interrupts is
// done again, and records again.
func last(reader *ringbuf.Reader, until time.Time) (sample []byte, err error) {
	for ; ; until = time.Now() {
		reader.SetDeadline(until)
		record, err := reader.Read()
		if err != nil {
			return sample, err
		}
		sample = record.RawSample
	}
}

// MaxTraceFrame is the longest frame that Trace takes: BPF_PROG_TEST_RUN has one page for it, of
// which the kernel needs some (net/bpf/test_run.c).
const MaxTraceFrame = 3520
