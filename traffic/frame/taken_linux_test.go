package frame

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/nstest"
)

// TestWhoeverHasTheXDPIsToldOf: it is not the driver that has no room for a second program.
func TestWhoeverHasTheXDPIsToldOf(t *testing.T) {
	needsRoot(t)
	for _, mode := range []link.XDPAttachFlags{link.XDPGenericMode, link.XDPDriverMode} {
		nstest.Inside(t, func() {
			one, err := vethWithAddress("192.0.2.1/24")
			if err != nil {
				t.Error(err)
				return
			}
			pass, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
			if err != nil {
				t.Error(err)
				return
			}
			defer pass.Close()
			theirs, err := link.AttachXDP(link.XDPOptions{Program: pass, Interface: one.Attrs().Index, Flags: mode})
			if err != nil {
				t.Error(err)
				return
			}
			defer theirs.Close()
			w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Address: "192.0.2.1"})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			if how, why := w.(*receiveWorker).sink.method(); !strings.Contains(why, "another program is attached") {
				t.Errorf("mode %d: %s, as %s", mode, how, why)
			}
			busy, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Address: "192.0.2.1", Load: result.Options{"sink": "xdp"}})
			if err == nil {
				busy.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "another program is attached") {
				t.Errorf("mode %d, where nothing else will do: %v", mode, err)
			}
		})
	}
}

// TestASinkTakesTheXDPThatIsFreeAgain: what another session's sink had attached let live frames through, which all were refused when it went.
func TestASinkTakesTheXDPThatIsFreeAgain(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		one, err := vethWithAddress("192.0.2.1/24")
		if err != nil {
			t.Error(err)
			return
		}
		var both []*receiveWorker
		for range 2 {
			w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Address: "192.0.2.1"})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			both = append(both, w.(*receiveWorker))
		}
		attached := func(want bool) {
			t.Helper()
			now, err := netlink.LinkByIndex(one.Attrs().Index)
			if err != nil || (now.Attrs().Xdp != nil && now.Attrs().Xdp.Attached) != want {
				t.Errorf("%v: %+v, want XDP: %v", err, now.Attrs().Xdp, want)
			}
		}
		if err := both[0].Close(); err != nil {
			t.Error(err)
		}
		attached(false)
		both[1].listener.hearRefused(message{}) // nothing new
		attached(false)
		both[1].listener.hearRefused(message{numbers: [numbersInMessage]uint64{1}})
		attached(true)
		if err := both[1].Close(); err != nil {
			t.Error(err)
		}
		attached(false)
	})
}

// vethWithAddress is an end of a new pair, which is up.
func vethWithAddress(cidr string) (netlink.Link, error) {
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"}); err != nil {
		return nil, err
	}
	one, err := netlink.LinkByName("one")
	if err != nil {
		return nil, err
	}
	address, err := netlink.ParseAddr(cidr)
	if err != nil {
		return nil, err
	}
	if err := netlink.AddrAdd(one, address); err != nil {
		return nil, err
	}
	return one, netlink.LinkSetUp(one)
}
