package stream

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// sending is a flow that sends, and its far end.
func sending(t *testing.T) (f *flow, far net.Conn) {
	t.Helper()
	near, fars := connected(t, 1)
	t.Cleanup(func() { fars[0].Close() })
	f, err := takeOver(Flow{near[0], traffic.Send}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f, fars[0]
}

// TestWhatAThreadSleptThroughIsMissed: what its bucket lost while the thread slept, and not while its socket was full.
func TestWhatAThreadSleptThroughIsMissed(t *testing.T) {
	f, far := sending(t)
	if err := unix.SetNonblock(int(f.fd), true); err != nil {
		t.Fatal(err)
	}
	c := Config{Message: 1000, BitsPerSecond: 1e9}
	kept := paceByBucket([]*flow{f}, c, "")
	f.bucket = traffic.NewBucket(c.BitsPerSecond/8, float64(kept.burst), 0) // by the test's own clock, which runs only where it says so
	paced := &thread{flows: []*flow{f}, buffer: newHotBuffer(c.Message, nil), slept: true}
	now := time.Second.Nanoseconds()
	paced.piece(f, now)
	missed := time.Duration(f.missed.Load())
	if missed < 980*time.Millisecond || missed > time.Second {
		t.Errorf("%s of a second are missed, but for the bucket's 10 ms", missed)
	}
	for next := int64(0); next >= 0; now += time.Millisecond.Nanoseconds() { // nobody reads
		next, _, _ = paced.piece(f, now)
	}
	paced.piece(f, now+time.Second.Nanoseconds())
	go io.Copy(io.Discard, far)
	for took := uintptr(0); took == 0; {
		_, took, _ = paced.piece(f, now+time.Second.Nanoseconds())
	}
	if held := time.Duration(f.held.Load()); held < 900*time.Millisecond {
		t.Errorf("%s are held up while the socket was full for a second", held)
	}
	if more := time.Duration(f.missed.Load()) - missed; more > 0 {
		t.Errorf("%s are missed while the socket was full", more)
	}
}

// TestPartsOfAMessageWaitForNoAcknowledgement where they fill no segment: over loopback up to 40 ms of a low rate lay in the sender. What a
// user's messages wait for is theirs to say.
func TestPartsOfAMessageWaitForNoAcknowledgement(t *testing.T) {
	for name, c := range map[string]struct {
		message int
		rate    float64
		delay   bool
	}{"parts": {128 << 10, 10e6, false}, "parts that fill segments": {1 << 20, 10e9, true}, "whole messages": {1000, 10e6, true}} {
		f, _ := sending(t)
		paceByBucket([]*flow{f}, Config{Message: c.message, BitsPerSecond: c.rate}, "")
		if nodelay, err := unix.GetsockoptInt(int(f.fd), unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || nodelay == 0 != c.delay {
			t.Errorf("%s: TCP_NODELAY is %d, %v", name, nodelay, err)
		}
	}
}

// TestTheKernelsBurstsAreOfTheirPackets: the least one is two packets, which over loopback are a megabit. At 3 Mbit/s it lasted for 350 ms,
// and was told as ten segments of Ethernet.
func TestTheKernelsBurstsAreOfTheirPackets(t *testing.T) {
	f, _ := sending(t)
	for rate, bucket := range map[float64]bool{3e6: true, 30e6: false} {
		kept, err := pace([]*flow{f}, Config{Message: 8 << 10, BitsPerSecond: rate})
		if err != nil || kept.method == methodBucket != bucket || !bucket && kept.burst < 100<<10 {
			t.Errorf("%g bit/s: %+v, %v", rate, kept, err)
		}
	}
}

// TestABurstIsABuckets: a depth that was asked for is that of a bucket, which auto has to choose then: it chose the kernel, whose bursts
// are its own, and the depth went unheard.
func TestABurstIsABuckets(t *testing.T) {
	f, _ := sending(t)
	for method, load := range map[string]result.Options{methodTCP: {"rate": 1e9}, methodBucket: {"rate": 1e9, "burst": 1 << 20}} {
		l, err := parseLoad(load)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := pace([]*flow{f}, l.config.filled())
		if err != nil || kept.method == methodBucket != (method == methodBucket) || method == methodBucket && kept.burst != 1<<20 {
			t.Errorf("%v: %+v, %v", load, kept, err)
		}
	}
}

// TestALinkLocalPeerNamesItsDevice: each interface has a route to such addresses, and the first one's was told, with its qdisc.
func TestALinkLocalPeerNamesItsDevice(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skip(err)
	}
	peer := &unix.SockaddrInet6{ZoneId: uint32(lo.Index), Addr: [16]byte{0xfe, 0x80, 15: 9}}
	if device, _, err := qdiscsTo(peer); err != nil || device != "lo" {
		t.Errorf("by %q, %v", device, err)
	}
}
