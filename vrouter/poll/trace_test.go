package poll

import (
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

// TestTraceGolden: a trace of every golden frame tells what the process does with it, ends with the same
// bytes, and changes no counter.
func TestTraceGolden(t *testing.T) {
	cases, c := golden.Load(t)
	b := newBed(t, c)
	for _, k := range cases {
		in, err := hex.DecodeString(k.In)
		if err != nil {
			t.Fatal(err)
		}
		if k.GSO != 0 || len(in) > MaxTraceFrame {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			trace := b.trace(t, k)
			op, drop := golden.Told(trace)
			if op != k.Op || drop != k.Drop {
				t.Fatalf("%s %s, not %s %s: %+v", op, drop, k.Op, k.Drop, trace.Steps)
			}
			if trace.TookOver != (op != "drop" && op != "pass") {
				t.Errorf("%s, and it would be sent: %t", op, trace.TookOver)
			}
			if trace.Fabric != (k.At == "fabric") || trace.Ifindex != b.ifindex[k.At] || int(trace.Length) != len(in) || !strings.HasPrefix(string(in), string(trace.Head)) {
				t.Errorf("it is said to be %+v", trace)
			}
			if trace.TookOver {
				if err := k.Compare(hex.EncodeToString(trace.Out)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if n := b.counted(t); n != 0 {
		t.Errorf("traces were counted as %d packets", n)
	}
}

// trace tries a case's frame.
func (b *bed) trace(t *testing.T, k golden.Case) core.Trace {
	t.Helper()
	in, err := hex.DecodeString(k.In)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := b.plane.Trace(b.vif(k.At), in)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// vif is an interface's, 0 for the fabric.
func (b *bed) vif(name string) uint32 {
	for slot, vif := range b.plane.Image().Vifs {
		if vif.Ifindex == b.ifindex[name] {
			return slot
		}
	}
	return 0
}

// TestWatch: what becomes of a packet is shown while it is forwarded as ever, if the filter lets it; and
// nothing is once nobody watches.
func TestWatch(t *testing.T) {
	cases, c := golden.LoadFlow(t)
	b := newBed(t, c)
	fromPort, fromFabric := golden.Case{}, golden.Case{}
	for _, k := range cases {
		switch k.Name {
		case "ipv4: a query":
			fromPort = k
		case "ipv4: its answer":
			fromFabric = k
		}
	}
	b.run(t, fromPort)
	for _, f := range []struct {
		name   string
		filter core.TraceFilter
		shows  []string
	}{
		{"all", core.TraceFilter{}, []string{fromPort.Op, fromFabric.Op}},
		{"the port", core.TraceFilter{Vif: b.vif(fromPort.At)}, []string{fromPort.Op, fromFabric.Op}},
		{"another port", core.TraceFilter{Vif: b.vif(fromPort.At) + 1}, nil},
		{"the far node", core.TraceFilter{Family: 4, Host: address(10, 0, 0, 2)}, []string{fromFabric.Op}},
		{"nobody", core.TraceFilter{Family: 4, Host: address(10, 99, 0, 2)}, nil},
		{"the other family", core.TraceFilter{Family: 6, Host: address(10, 0, 0, 2)}, nil},
	} {
		t.Run(f.name, func(t *testing.T) {
			watch := b.plane.Watch(f.filter)
			b.run(t, fromPort)
			b.run(t, fromFabric)
			for _, want := range f.shows {
				trace, err := watch.Next(time.Now().Add(10 * time.Second))
				if op, _ := golden.Told(trace); err != nil || op != want {
					t.Errorf("%s, not %s: %v", op, want, err)
				}
			}
			if _, err := watch.Next(time.Now()); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("there is more: %v", err)
			}
			if err := watch.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	b.run(t, fromPort)
	shared := b.plane.tracing()
	if shared.Written != shared.Read {
		t.Error("a packet was recorded that nobody watches")
	}
	many := b.plane.Watch(core.TraceFilter{})
	for range watched + 5 {
		b.run(t, fromPort)
	}
	for n := range watched {
		if _, err := many.Next(time.Now()); err != nil {
			t.Fatalf("packet %d: %v", n, err)
		}
	}
	if _, err := many.Next(time.Now()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("more are kept than there is room for: %v", err)
	}
	b.vifsAddUp(t)
}

func address(a, b, c, d uint64) core.Addr { return core.Addr{Hi: (a<<24 | b<<16 | c<<8 | d) << 32} }
