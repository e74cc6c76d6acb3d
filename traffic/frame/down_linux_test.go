package frame

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/traffic/nstest"
)

// A device that went down for a while ended a sender by AF_PACKET, with "network is down".
func TestAPacketSocketOutlivesADeviceThatGoesDown(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		link, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			t.Error(err)
			return
		}
		four := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		p, err := newPacketSocket(testHeader(four, 40000, 7, 64, false), device{index: 1, name: "lo", loopback: true}, 0, 1)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.close()
		p.rate(1000, 1)
		p.setPhase(window)
		const ms = int64(time.Millisecond)
		send := func(at int64, wantSent, wantRefused uint64, wantAway time.Duration) {
			t.Helper()
			errno := p.send(1, at*ms)
			if sent, refused := p.counts(window); errno != 0 || sent != wantSent || refused != wantRefused || p.away() != wantAway {
				t.Errorf("at %d ms: %v; %d frames were sent, %d refused, the device away for %s", at, errno, sent, refused, p.away())
			}
		}
		send(1, 1, 0, 0)
		if err := netlink.LinkSetDown(link); err != nil {
			t.Error(err)
			return
		}
		send(10, 1, 1, 0)
		send(200, 1, 2, 190*time.Millisecond)
		if err := p.probe(1); !errors.Is(err, unix.ENETDOWN) {
			t.Errorf("a probe of a device that is down: %v", err)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			t.Error(err)
			return
		}
		p.setPhase(window)
		send(310, 2, 2, 300*time.Millisecond)
	})
}

// TestAPacketSocketTellsOfALoweredMTU: the system's own words, "message too long", do not say of what.
func TestAPacketSocketTellsOfALoweredMTU(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		link, err := netlink.LinkByName("lo")
		if err == nil {
			err = errors.Join(netlink.LinkSetUp(link), netlink.LinkSetMTU(link, 500))
		}
		if err != nil {
			t.Error(err)
			return
		}
		four := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		p, err := newPacketSocket(testHeader(four, 40000, 7, 1000, false), device{index: 1, name: "lo", loopback: true}, 0, 1)
		if err != nil {
			t.Error(err)
			return
		}
		defer p.close()
		if err := p.probe(1); !errors.Is(err, unix.EMSGSIZE) || !strings.Contains(err.Error(), "MTU") {
			t.Error(err)
		}
	})
}

// liveAtVeth is a sender of live frames of 1000 bytes at one end of a veth, what lets its other end take none, and what frees it.
func liveAtVeth() (l *live, link netlink.Link, shut, free func() error, err error) {
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"}); err != nil {
		return nil, nil, nil, nil, err
	}
	for _, name := range []string{"two", "one"} {
		if link, err = netlink.LinkByName(name); err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return nil, nil, nil, nil, err
		}
	}
	out, err := deviceOf(link)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	shut, err = openPeer(out)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	l, err = newLive(testHeader(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 40000, 7, 1000, false), out.index, 0, 1)
	if err != nil {
		return nil, nil, nil, nil, errors.Join(err, shut())
	}
	l.setPhase(window)
	shut = sync.OnceValue(shut)
	return l, link, shut, func() error { return errors.Join(l.close(), shut()) }, nil
}

// liveInside runs a part of a test with that sender, in a network namespace of its own.
func liveInside(t *testing.T, do func(l *live, link netlink.Link, shut func() error)) {
	t.Helper()
	needsRoot(t)
	tells := true
	nstest.Inside(t, func() {
		l, link, shut, free, err := liveAtVeth()
		if err != nil {
			t.Error(err)
			return
		}
		defer free()
		if tells = l.refusals != nil; tells {
			do(l, link, shut)
		}
	})
	if !tells {
		t.Skip("skip: this kernel does not tell what a device refuses")
	}
}

// sendLive has a sender of live frames send so many, and tells how long that took.
func sendLive(t *testing.T, l *live, frames uint32) time.Duration {
	t.Helper()
	began := time.Now()
	l.release()
	if err := l.call(frames); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// For how long live frames found their device down was not known, so that the verdict on a sender without a rate was that it was
// busy; and of a device that was deleted nothing was said but that the receiver was silent.
func TestLiveFramesTellThatTheirDeviceWasDown(t *testing.T) {
	liveInside(t, func(l *live, link netlink.Link, _ func() error) {
		sendLive(t, l, 1000)
		if sent, _ := l.counts(window); sent == 0 || l.away() != 0 {
			t.Errorf("%d frames left, and the device was down for %s", sent, l.away())
		}
		if err := netlink.LinkSetDown(link); err != nil {
			t.Error(err)
		}
		_, before := l.counts(window)
		took := sendLive(t, l, 100_000)
		down := l.away()
		if _, refused := l.counts(window); refused != before+100_000 || down <= 0 || down > took {
			t.Errorf("of 100000 frames in %s %d were refused, the device down for %s", took, refused-before, down)
		}
		if err := netlink.LinkSetUp(link); err != nil {
			t.Error(err)
		}
		sendLive(t, l, 1000)
		if l.away() != down {
			t.Errorf("the device is up, and was down for %s more", l.away()-down)
		}
		w, e := &sendWorker{sources: []source{l}}, &engine{ended: make(chan struct{})}
		if w.noteGone(e); e.failure() != nil {
			t.Error(e.failure())
		}
		if err := netlink.LinkDel(link); err != nil {
			t.Error(err)
		}
		sendLive(t, l, 1000)
		if w.noteGone(e); !errors.Is(e.failure(), unix.ENODEV) {
			t.Errorf("of a device that was deleted: %v", e.failure())
		}
	})
}

// A veth's other end may lose what lets it take live frames, as when a receiver's XDP goes that another receiver had attached
// there: all were refused from then on, and the sender was called the limit.
func TestLiveFramesTellThatTheOtherEndTakesNone(t *testing.T) {
	liveInside(t, func(l *live, _ netlink.Link, shut func() error) {
		w := &sendWorker{load: load{threads: 1}, sources: []source{l}, device: device{name: "one", kind: "veth"}}
		e := &engine{ended: make(chan struct{}), sources: w.sources}
		sendLive(t, l, 1000)
		before := e.usage()
		if l.away() != 0 {
			t.Errorf("frames left, and the other end was away for %s", l.away())
		}
		if err := shut(); err != nil {
			t.Error(err)
		}
		took := sendLive(t, l, 1_000_000)
		used := e.usage()
		if _, refused := l.counts(window); refused < 1_000_000 || l.away() > took || l.away() < took/2 {
			t.Errorf("of a million frames in %s %d were refused (%v), the other end away for %s", took, refused, l.refusal(), l.away())
		}
		end := w.end(e, &course{}, before, used)
		if o := end.Offered; !strings.Contains(o.AwayWhy, "the other end of one") || o.AwaySeconds != l.away().Seconds() {
			t.Errorf("away for %g s: %q", o.AwaySeconds, o.AwayWhy)
		}
	})
}

// TestASenderOpensAnEndThatWasClosed: it goes on by a program of its own.
func TestASenderOpensAnEndThatWasClosed(t *testing.T) {
	liveInside(t, func(l *live, own netlink.Link, shut func() error) {
		out, err := deviceOf(own)
		if err != nil {
			t.Error(err)
			return
		}
		w := &sendWorker{load: load{threads: 1}, sources: []source{l}, device: out}
		e := &engine{ended: make(chan struct{}), sources: w.sources}
		if err := shut(); err != nil {
			t.Error(err)
		}
		if sendLive(t, l, 1000); !w.shut() || !w.reopen(e) || w.opened == nil {
			t.Errorf("it is not opened: %v", l.lacked())
			return
		}
		_, before := l.counts(window)
		sendLive(t, l, 200)
		if _, refused := l.counts(window); refused != before {
			t.Errorf("%d frames were refused then: %v", refused-before, l.refusal())
		}
		if err := w.opened(); err != nil {
			t.Error(err)
		}
	})
}

// Live frames that no longer fit their interface's MTU were all refused, and the window's rate was told as the path's.
func TestLiveFramesTellOfALoweredMTU(t *testing.T) {
	liveInside(t, func(l *live, link netlink.Link, _ func() error) {
		w, e := &sendWorker{sources: []source{l}, device: device{name: "one"}}, &engine{ended: make(chan struct{})}
		for _, mtu := range []int{1000 - ethernetSize - fcsSize, 500} {
			if err := netlink.LinkSetMTU(link, mtu); err != nil {
				t.Error(err)
			}
			sendLive(t, l, 1000)
			w.noteGone(e)
			if err := e.failure(); (err == nil) == (mtu == 500) || err != nil && (!errors.Is(err, unix.EMSGSIZE) || !strings.Contains(err.Error(), "MTU")) {
				t.Errorf("an MTU of %d: %v", mtu, err)
			}
		}
	})
}
