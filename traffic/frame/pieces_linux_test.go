package frame

import (
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
	"windtunnel/traffic/nstest"
)

// TestTheSinkIsAtTheDriversXDPAtAnyMTU: where the MTU is beyond a page, a veth takes programs alone that know of frames in pieces.
// The sink fell back to tc there ("numerical result out of range"), with a fifth of the frames of 3000 bytes that XDP counts.
func TestTheSinkIsAtTheDriversXDPAtAnyMTU(t *testing.T) {
	needsRoot(t)
	for _, mtu := range []int{1500, 9000} {
		for _, how := range []string{auto, byXDP} {
			nstest.Inside(t, func() {
				if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one", MTU: mtu}, PeerName: "two"}); err != nil {
					t.Error(err)
					return
				}
				d, err := deviceNamed("one")
				if err != nil {
					t.Error(err)
					return
				}
				s, err := newBPFSink(how, expected{session: 7, flows: 1, sizes: mix{64}}, d)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.close()
				at, err := netlink.LinkByName("one")
				if err != nil || at.Attrs().Xdp == nil || at.Attrs().Xdp.AttachMode != 1 || s.why != "" { // XDP_ATTACHED_DRV
					t.Errorf("MTU %d, %s: %+v, %v; %q", mtu, how, at.Attrs().Xdp, err, s.why)
				}
			})
		}
	}
}

// TestProgramCountsFramesInPieces: of which XDP sees the first page.
func TestProgramCountsFramesInPieces(t *testing.T) {
	needsRoot(t)
	h := testHeader(four, 40000, 7, 9018, false)
	e := expectedOf(h, 1)
	s := &bpfSink{how: byXDP}
	if err := s.load(e, false, inPieces); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := &rig{bpfSink: s, expected: e, memory: newSequences(1)}
	stamps, b := newStamp(h)
	for sequence := range uint64(40) {
		b = b[:stamps.write(b, number{window, 0, sequence})]
		if program, inGo := r.take(t, slices.Clone(b), false); !program || !inGo {
			t.Errorf("frame %d: ours by the program: %v, by Go: %v", sequence, program, inGo)
		}
	}
	if program, inGo := r.take(t, b[:len(b)-1], false); !program || !inGo { // cut, so corrupt
		t.Errorf("a cut frame: ours by the program: %v, by Go: %v", program, inGo)
	}
	r.compare(t)
}

// TestAPeerIsOpenedThoughItsGROIsOn: switched on while it was down, GRO does not have the other end take live frames
// (veth_set_features and veth_open in drivers/net/veth.c), and then nothing was tried, as "it has GRO on already".
func TestAPeerIsOpenedThoughItsGROIsOn(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		one, err := lateGRO()
		if err != nil {
			t.Error(err)
			return
		}
		d, err := deviceOf(one)
		if err != nil {
			t.Error(err)
			return
		}
		l, err := newLive(testHeader(four, 40000, 7, 64, false), d.index, 0, 1)
		if err != nil {
			t.Error(err)
			return
		}
		defer l.close()
		l.setPhase(window)
		sendLive(t, l, 10)
		_, before := l.counts(window)
		restore, err := openPeer(d)
		if err != nil {
			t.Error(err)
			return
		}
		sendLive(t, l, 10)
		if sent, refused := l.counts(window); sent != 20-before || refused != before {
			t.Errorf("%d frames sent; %d refused before it was opened, %d with those behind", sent, before, refused)
		}
		if err := restore(); err != nil {
			t.Error(err)
		}
	})
}

// lateGRO is a veth that was up before its other end, whose GRO was switched on before it came up.
func lateGRO() (one netlink.Link, err error) {
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"}); err != nil {
		return nil, err
	}
	if one, err = netlink.LinkByName("one"); err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(one); err != nil {
		return nil, err
	}
	tool, err := ethtool.Open()
	if err != nil {
		return nil, err
	}
	defer tool.Close()
	if err := tool.Change("two", map[string]bool{"rx-gro": true}); err != nil {
		return nil, err
	}
	two, err := netlink.LinkByName("two")
	if err != nil {
		return nil, err
	}
	return one, netlink.LinkSetUp(two)
}
