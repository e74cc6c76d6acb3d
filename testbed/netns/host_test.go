package netns

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/testbed"
)

// asHost gives the calling goroutine's thread, which it never gives back, the network namespace of a host
// with an interface for control and one for data.
func asHost(t *testing.T) {
	t.Helper()
	needRoot(t)
	runtime.LockOSThread() // not unlocked: the thread ends with the test, and its namespaces with it
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	err := withLinks(func(h *handle) error {
		for _, l := range []struct{ device, peer, address string }{{"mgmt", "mgmt-far", "10.9.0.2/24"}, {"data", "data-far", "10.0.0.2/24"}} {
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.MTU = l.device, 1400
			if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: l.peer}); err != nil {
				return err
			}
			link, err := h.LinkByName(l.device)
			if err != nil {
				return err
			}
			address, _ := netlink.ParseAddr(l.address)
			if err := h.AddrAdd(link, address); err != nil {
				return err
			}
			if err := h.up(l.device); err != nil {
				return err
			}
			if err := h.up(l.peer); err != nil {
				return err
			}
		}
		data, _ := h.LinkByName("data")
		for _, route := range []testbed.Route{{Prefix: "10.77.0.0/16", Gateway: "10.0.0.9"}, {Prefix: "10.78.0.0/16"}} {
			r, err := kernelRoute(route, data.Attrs().Index)
			if err != nil {
				return err
			}
			r.Priority = 7
			if err := h.RouteAdd(r); err != nil {
				return err
			}
		}
		mgmt, _ := h.LinkByName("mgmt")
		all, _ := netlink.ParseIPNet("0.0.0.0/0")
		return h.RouteAdd(&netlink.Route{LinkIndex: mgmt.Attrs().Index, Dst: all, Gw: []byte{10, 9, 0, 1}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

var hostWay = Way{Address: netip.MustParseAddr("10.0.0.2"), Toward: netip.MustParseAddr("10.0.0.1"),
	Near: netip.MustParseAddr("10.9.0.2"), Far: netip.MustParseAddr("10.5.0.1")}

// found is the interface as it is now; what a kernel counts or numbers is left out.
func found(t *testing.T) NIC {
	t.Helper()
	n, err := FindNIC(hostWay)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// fatal ends a test by an error.
func fatal(t *testing.T) func(error) {
	return func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

var asWas = cmpopts.IgnoreFields(NIC{}, "Pin")

// changing has the node of a found wire change all that it may.
func changing() testbed.Graph {
	nic := &testbed.NIC{Device: "data", Address: "10.0.0.2/24", Virtual: true}
	end := func(place, address string) testbed.Interface {
		return testbed.Interface{Place: place, Device: "data", MTU: 1500, Addresses: []string{address}, Steering: testbed.SteerThreaded,
			Offloads: map[string]bool{testbed.TSO: false, testbed.GSO: false, testbed.GRO: true}}
	}
	return testbed.Graph{Cell: "A",
		Nodes:   []testbed.Node{{Name: "a", CPUs: []int{0}, NIC: nic}, {Name: "b", CPUs: []int{0}, NIC: nic}},
		Bridges: []testbed.Bridge{{Name: "br", Node: "b", Device: "br0", MTU: 1500}},
		Links: []testbed.Link{{Name: "wire", Role: result.RoleWire, Kind: testbed.WireNetwork,
			Ends: [2]testbed.Interface{end("a", "10.0.0.1/24"), end("b", "10.0.0.2/24")}}}}
}

// taking is a backend that has taken the host's interface, and that as it was before.
func taking(t *testing.T) (*Backend, NIC) {
	t.Helper()
	before := found(t)
	before.Pin = filepath.Join(t.TempDir(), "netns")
	b := New("b", []int{0}, t.TempDir())
	if err := b.Take(before); err != nil {
		t.Fatal(err)
	}
	return b, before
}

// TestAnInterfaceIsTakenAndReturned: cells come and go with it, and the host then has it as before.
func TestAnInterfaceIsTakenAndReturned(t *testing.T) {
	asHost(t)
	b, before := taking(t)
	if err := withLinks(func(h *handle) error { _, err := h.LinkByName("data"); return err }); !missing(err) {
		t.Errorf("the host still has the interface: %v", err)
	}
	for range 2 {
		g := changing()
		if _, err := b.Place(context.Background(), g); err != nil {
			t.Fatal(err)
		}
		if err := b.Apply(context.Background(), g, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Verify(context.Background(), g); err != nil {
			t.Error(err)
		}
		if err := b.Restore(context.Background(), "A"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
	if _, err := os.Stat(before.Pin); err == nil {
		t.Error("the pin is left")
	}
}

// TestWhatTheOtherEndHolds: a program at the other end keeps an interface from what it had, and that is put back once the
// program has gone.
func TestWhatTheOtherEndHolds(t *testing.T) {
	asHost(t)
	must := fatal(t)
	data, err := netlink.LinkByName("data")
	must(err)
	must(netlink.LinkSetMTU(data, 9000))
	b, before := taking(t)
	must(b.Apply(context.Background(), changing(), nil))
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2 /* XDP_PASS */), asm.Return()}})
	must(err)
	defer program.Close()
	far, err := netlink.LinkByName("data-far")
	must(err)
	attached, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: far.Attrs().Index})
	must(err)
	goes := sync.OnceFunc(func() { attached.Close() }) // which takes the program off
	defer goes()
	must(b.Restore(context.Background(), "A"))
	err = b.GiveBack()
	for _, says := range []string{"the MTU 9000 of data cannot be put back yet", "tx-tcp-segmentation", "XDP program", before.Pin} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %q", err, says)
		}
	}
	gone := time.AfterFunc(heldPatience/10, goes)
	defer gone.Stop()
	must(b.Close())
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
}

// TestWhatAKilledSwitchLeftOnAHost goes with its cell: a tap that outlasts whoever made it, and an interface that takes every frame.
func TestWhatAKilledSwitchLeftOnAHost(t *testing.T) {
	asHost(t)
	b, before := taking(t)
	g := changing()
	if err := b.Apply(context.Background(), g, nil); err != nil {
		t.Fatal(err)
	}
	stack := b.Stack("A", "b")
	leave := func() error {
		return withLinks(func(h *handle) error {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "br-phy"
			data, err := h.LinkByName("data")
			return errors.Join(err, netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TAP}), h.SetPromiscOn(data))
		})
	}
	if err := stack.Do(leave); err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(context.Background(), "A"); err != nil {
		t.Fatal(err)
	}
	err := b.host.stack.Do(func() error {
		return withLinks(func(h *handle) error {
			there, err := h.has("br-phy")
			if there {
				t.Error("the tap is still there")
			}
			data, gone := h.LinkByName("data")
			if gone == nil && data.Attrs().RawFlags&unix.IFF_PROMISC != 0 {
				t.Error("the interface still takes every frame")
			}
			return errors.Join(err, gone)
		})
	})
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
}

// TestAnInterfaceIsReturnedForTheDead: nothing but what the journal has is known of it any more.
func TestAnInterfaceIsReturnedForTheDead(t *testing.T) {
	asHost(t)
	b, before := taking(t)
	g := changing()
	g.Links[0].Ends[1].Bridge, g.Links[0].Ends[1].Addresses = "br", nil
	if err := b.Apply(context.Background(), g, nil); err != nil {
		t.Fatal(err)
	}
	if was, err := before.Return(); err != nil || !was {
		t.Fatal(was, err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
	must := fatal(t)
	data, err := netlink.LinkByName("data")
	must(err)
	must(netlink.LinkSetMTU(data, 1300))
	if was, err := before.Return(); err != nil || was || found(t).MTU != 1300 {
		t.Errorf("once more: %v, %v; the MTU that its owner gave it since then is %d", was, err, found(t).MTU)
	}
	b.host = nil
	_ = b.Close() // its cells miss their wire
}

// TestAnInterfaceThatCannotBeReturnedIsKept: its pin alone keeps a virtual one, until what is in its way has gone.
func TestAnInterfaceThatCannotBeReturnedIsKept(t *testing.T) {
	asHost(t)
	b, before := taking(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "data"
	other := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(other); err != nil {
		t.Fatal(err)
	}
	for _, giveBack := range []func() error{b.GiveBack, b.Close} {
		if err := giveBack(); err == nil || !strings.Contains(err.Error(), "moving it back") || !strings.Contains(err.Error(), before.Pin) {
			t.Errorf("%v", err)
		}
	}
	if err := netlink.LinkDel(other); err != nil {
		t.Fatal(err)
	}
	if was, err := before.Return(); err != nil || !was {
		t.Fatal(was, err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
}

// TestAnInterfaceThatIsGone is said once, and nothing waits for it any more.
func TestAnInterfaceThatIsGone(t *testing.T) {
	asHost(t)
	b, before := taking(t)
	far, err := netlink.LinkByName("data-far")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkDel(far); err != nil { // which takes the other end along
		t.Fatal(err)
	}
	if err := b.GiveBack(); !errors.Is(err, errGone) {
		t.Errorf("%v", err)
	}
	if was, err := before.Return(); was || err != nil {
		t.Errorf("once more: %v, %v", was, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestInterfacesThatAreRefused are left as they are, and the reason says which it is.
func TestInterfacesThatAreRefused(t *testing.T) {
	asHost(t)
	with := func(change func(*Way)) Way { w := hostWay; change(&w); return w }
	address := netip.MustParseAddr
	for says, way := range map[string]Way{
		"carries the control connection":       with(func(w *Way) { w.Address = address("10.9.0.2") }),
		"has the route to 10.0.0.9":            with(func(w *Way) { w.Far = address("10.0.0.9") }),
		"no interface has the address":         with(func(w *Way) { w.Address = address("10.4.4.4") }),
		"no data address was given":            with(func(w *Way) { w.Address, w.Toward = netip.Addr{}, netip.Addr{} }),
		"would leave by mgmt and not by data":  with(func(w *Way) { w.Toward = address("10.9.0.7") }),
		"are not in one subnet":                with(func(w *Way) { w.Toward = address("10.78.0.1") }),
		"would go over the management network": with(func(w *Way) { w.Address, w.Toward = netip.Addr{}, address("10.3.0.1") }),
		"is the loopback":                      with(func(w *Way) { w.Address = address("127.0.0.1") }),
	} {
		if says == "is the loopback" {
			if err := withLinks(func(h *handle) error { return h.up("lo") }); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := FindNIC(way); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v; it should say %q", way, err, says)
		}
	}
	if n, err := FindNIC(with(func(w *Way) { w.Address = netip.Addr{} })); err != nil || n.Device != "data" || n.Data.Address != "10.0.0.2/24" || n.Data.MostMTU != 65535 { // ETH_MAX_MTU, which a veth has
		t.Errorf("by the other node's address: %+v, %v", n.Data, err)
	}
	for says, do := range map[string]func(h *handle, data netlink.Link) (undo func() error, err error){
		"stands on it": func(h *handle, data netlink.Link) (func() error, error) {
			attrs := netlink.NewLinkAttrs()
			attrs.Name, attrs.ParentIndex = "data.7", data.Attrs().Index
			vlan := &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}
			return func() error { return h.LinkDel(vlan) }, h.LinkAdd(vlan)
		},
		"a port of another": func(h *handle, data netlink.Link) (func() error, error) {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = "br7"
			bridge := &netlink.Bridge{LinkAttrs: attrs}
			if err := h.LinkAdd(bridge); err != nil {
				return nil, err
			}
			return func() error { return h.LinkDel(bridge) }, h.LinkSetMaster(data, bridge)
		},
		"has a qdisc": func(h *handle, data netlink.Link) (func() error, error) {
			q := &netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{LinkIndex: data.Attrs().Index,
				Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
			return func() error { return h.QdiscDel(q) }, h.QdiscAdd(q)
		},
	} {
		err := withLinks(func(h *handle) error {
			data, err := h.LinkByName("data")
			if err != nil {
				return err
			}
			undo, err := do(h, data)
			if err != nil {
				return err
			}
			if n, err := FindNIC(hostWay); err != nil || !strings.Contains(n.Data.Fixed, says) {
				t.Errorf("%q, %v; it should say %q", n.Data.Fixed, err, says)
			}
			return undo()
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestACellInTheHostsOwnStack changes nothing there, comes after one that took the interface, and sees what is not as it was.
func TestACellInTheHostsOwnStack(t *testing.T) {
	asHost(t)
	b, before := taking(t)
	g := changing()
	g.Bridges = nil
	for i := range g.Nodes {
		g.Nodes[i].InPlace = true
		g.Links[0].Ends[i].Offloads, g.Links[0].Ends[i].Steering, g.Links[0].Ends[i].MTU = nil, "", 1400
	}
	if _, err := b.Place(context.Background(), g); err == nil || !strings.Contains(err.Error(), "give it back first") {
		t.Errorf("while the interface is taken: %v", err)
	}
	if err := b.GiveBack(); err != nil {
		t.Fatal(err)
	}
	paths, err := b.Place(context.Background(), g)
	if err != nil || paths["b"] == "" {
		t.Fatal(paths, err)
	}
	if err := b.Apply(context.Background(), g, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(context.Background(), g); err != nil {
		t.Error(err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Errorf("while the cell stands: %s", differs)
	}
	link, _ := netlink.LinkByName("data")
	elsewhere, _ := netlink.ParseIPNet("10.0.0.1/32")
	mgmt, _ := netlink.LinkByName("mgmt")
	detour := &netlink.Route{LinkIndex: mgmt.Attrs().Index, Dst: elsewhere, Gw: []byte{10, 9, 0, 1}}
	for says, do := range map[string][2]func() error{
		"has the MTU 1300 by now": {func() error { return netlink.LinkSetMTU(link, 1300) }, func() error { return netlink.LinkSetMTU(link, 1400) }},
		"would leave by":          {func() error { return netlink.RouteAdd(detour) }, func() error { return netlink.RouteDel(detour) }},
	} {
		if err := do[0](); err != nil {
			t.Fatal(err)
		}
		if err := b.Verify(context.Background(), g); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %q", err, says)
		}
		if err := do[1](); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Restore(context.Background(), "A"); err != nil {
		t.Fatal(err)
	}
	if err := b.Take(before); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
}

// TestWhoHasAnAddress is asked of the segment, by probes that change nobody's tables.
func TestWhoHasAnAddress(t *testing.T) {
	asHost(t)
	far, err := netlink.LinkByName("data-far")
	if err != nil {
		t.Fatal(err)
	}
	stack, err := NewStack("far", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stack.Close()
	there, err := netns.GetFromPath(stack.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := netlink.LinkSetNsFd(far, int(there)); err != nil {
		t.Fatal(err)
	}
	err = stack.Do(func() error {
		return withLinks(func(h *handle) error {
			link, err := h.LinkByName("data-far")
			if err != nil {
				return err
			}
			address, _ := netlink.ParseAddr("10.0.0.253/24")
			return errors.Join(h.AddrAdd(link, address), h.LinkSetUp(link))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{"10.0.0.253": far.Attrs().HardwareAddr.String(), "10.0.0.252": ""} {
		if mac, err := Taken(context.Background(), "data", netip.MustParseAddr(address)); err != nil || mac != want {
			t.Errorf("%s: %q, %v; it should be %q", address, mac, err, want)
		}
	}
	if _, err := Taken(context.Background(), "lo", netip.MustParseAddr("10.0.0.1")); err == nil {
		t.Error("the loopback interface is no Ethernet")
	}
	for _, packet := range [][]byte{nil, make([]byte, arpLength), question(far.Attrs().HardwareAddr, netip.MustParseAddr("10.0.0.1"))[:27]} {
		if who, ok := sender(packet); ok {
			t.Errorf("%d bytes are from %s", len(packet), who)
		}
	}
}
