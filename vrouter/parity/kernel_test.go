package parity

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/kernel"
)

// What a tc program says of a packet: linux/pkt_cls.h.
const (
	actionUnspec   = ^uint32(0)
	actionShot     = 2
	actionRedirect = 7
)

// skbContext is struct __sk_buff of linux/bpf.h.
type skbContext struct {
	_       [10]uint32
	Ifindex uint32
	_       [37]uint32
}

// tc is the kernel mode, attached to interfaces whose other ends the test hears.
type tc struct {
	t        *testing.T
	here     *lab.Namespace
	plane    *kernel.Dataplane
	ifindex  map[string]uint32
	names    map[uint32]string // by vif
	far      map[string]*lab.Tap
	programs map[string]*ebpf.Program
}

func newTC(t *testing.T, c config.Config) *tc {
	t.Helper()
	here, there := lab.NewNamespace(t), lab.NewNamespace(t)
	m := &tc{t: t, here: here, ifindex: map[string]uint32{}, names: map[uint32]string{0: fabric}, far: map[string]*lab.Tap{}, programs: map[string]*ebpf.Program{}}
	names := []string{fabric}
	for _, p := range c.Ports {
		names = append(names, p.Interface)
	}
	for i, name := range names {
		lab.Veth(here, name, there, name, longest, "")
		here.SetMAC(name, fmt.Sprintf("02:00:00:00:00:%02x", 1+16*i))
		m.ifindex[name] = uint32(here.Link(name).Attrs().Index)
		m.far[name] = lab.NewTap(there, name)
	}
	here.Do(func() error {
		if err := m.load(c); err != nil {
			return err
		}
		return m.findPrograms()
	})
	return m
}

// load attaches by clsact, whose filters tell their programs.
func (m *tc) load(c config.Config) (err error) {
	if m.plane, err = kernel.Load(kernel.Options{Name: "parity", Clsact: true}); err != nil {
		return err
	}
	m.t.Cleanup(func() { m.here.Do(m.plane.Close) })
	image, err := c.Image(golden.Facts(m.ifindex), m.plane.Image())
	if err != nil {
		return err
	}
	plan := config.Diff(m.plane.Image(), image)
	if err := m.plane.Write(plan.Prepare); err != nil {
		return err
	}
	if err := m.plane.Switch(plan.Switch); err != nil {
		return err
	}
	var vifs []config.Attachment
	for slot, vif := range image.Vifs {
		for name, number := range m.ifindex {
			if number == vif.Ifindex {
				vifs = append(vifs, config.Attachment{Vif: slot, Ifindex: number, Interface: name})
				m.names[slot] = name
			}
		}
	}
	return m.plane.Attach(config.Attachment{Ifindex: m.ifindex[fabric], Interface: fabric}, vifs)
}

func (m *tc) findPrograms() error {
	for name := range m.ifindex {
		filters, err := netlink.FilterList(m.here.Link(name), netlink.HANDLE_MIN_INGRESS)
		if err != nil || len(filters) != 1 {
			return fmt.Errorf("%s has %d filters: %w", name, len(filters), err)
		}
		program, err := ebpf.NewProgramFromID(ebpf.ProgramID(filters[0].(*netlink.BpfFilter).Id))
		if err != nil {
			return err
		}
		m.t.Cleanup(func() { program.Close() })
		m.programs[name] = program
	}
	return nil
}

// run lets the kernel have a frame, in the interfaces' namespace.
func (m *tc) run(f frame, room []byte) (action uint32, out []byte, err error) {
	options := &ebpf.RunOptions{Data: f.bytes, DataOut: room, Context: skbContext{Ifindex: m.ifindex[f.at]}}
	action, err = m.programs[f.at].Run(options)
	return action, options.DataOut, err
}

func (m *tc) totals() core.Totals {
	m.t.Helper()
	totals, err := m.plane.Totals()
	if err != nil {
		m.t.Fatal(err)
	}
	return totals
}

// flows is how many it knows.
func (m *tc) flows() (count int) {
	m.t.Helper()
	if err := m.plane.EachFlow(func(core.FlowKey, core.Flow) error { count++; return nil }); err != nil {
		m.t.Fatal(err)
	}
	return count
}
