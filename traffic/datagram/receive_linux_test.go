package datagram

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
	"windtunnel/traffic/icmptest"
)

// TestAReceiverWhoseSocketFailsEnds: it does not ask again and again, nor keep what it was answered each time.
func TestAReceiverWhoseSocketFailsEnds(t *testing.T) {
	_, in := ends(t, "udp4", "127.0.0.1")
	e := newEngine(t, Config{Message: 100, Codec: longHeader{testKey}}, Flow{Conn: in, Role: traffic.Receive})
	other, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Dup3(int(other.Fd()), e.sockets[0].fd, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	e.Start()
	select {
	case <-e.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("it still receives")
	}
	if err := e.Err(); err == nil || strings.Count(err.Error(), "receiving") != 1 {
		t.Errorf("%v", err)
	}
}

// TestWhatICMPSaysEndsNoReceiver: it is about what the receiver sent itself, whoever says it.
func TestWhatICMPSaysEndsNoReceiver(t *testing.T) {
	raw, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		t.Skipf("skip: needs root, to send ICMP: %v", err)
	}
	defer unix.Close(raw)
	peer := listenUDP(t)
	defer peer.Close()
	conn := dialUDP(t, peer)
	here := addressOf(conn)
	e := newEngine(t, Config{Message: 100, Codec: longHeader{testKey}}, Flow{Conn: conn, Role: traffic.Receive})
	e.Start()
	if err := unix.Sendto(raw, icmptest.Prohibited(here, addressOf(peer)), 0, &unix.SockaddrInet4{Addr: here.Addr().As4()}); err != nil {
		t.Fatal(err)
	}
	datagram := make([]byte, 100)
	longHeader{testKey}.Put(datagram, Stamp{})
	if _, err := peer.WriteTo(datagram, net.UDPAddrFromAddrPort(here)); err != nil {
		t.Fatal(err)
	}
	got := awaitPackets(t, e, 1).Flows[0]
	e.Halt() // a thread says what failed when it ends
	if got.Packets != 1 || e.Err() != nil {
		t.Errorf("%+v, %v", got, e.Err())
	}
}

// TestDropsOfAClosedSocket are what they were, whoever has the number of its descriptor then.
func TestDropsOfAClosedSocket(t *testing.T) {
	other := listenUDP(t)
	defer other.Close()
	if err := other.SetReadBuffer(1); err != nil { // the least that the kernel gives
		t.Fatal(err)
	}
	from := dialUDP(t, other)
	defer from.Close()
	for range 100 {
		if _, err := from.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := other.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	s := taken(t, listenUDP(t), Config{})
	number, copied := s.fd, -1
	s.close()
	if err := raw.Control(func(fd uintptr) { copied, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, number) }); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(copied)
	if err != nil || copied != number {
		t.Skipf("skip: somebody else has the number %d by now: %v", number, err)
	}
	if n := s.drops(); n != 0 {
		t.Errorf("%d messages of another socket's were counted", n)
	}
}

// TestAReceiverThatPolls takes what is there, and what comes later; that it found nothing is no call that waited, and out of short calls
// it is out of real time.
func TestAReceiverThatPolls(t *testing.T) {
	out, in := ends(t, "udp4", "127.0.0.1")
	defer out.Close()
	e := newEngine(t, Config{Message: 100, Codec: longHeader{testKey}, Poll: pollBusy}, Flow{Conn: in, Role: traffic.Receive})
	defer e.Close()
	done := make(chan struct{})
	go func() { // a hot thread of its own, which ends with its signal mask
		defer close(done)
		runtime.LockOSThread()
		if err := traffic.DeafenThread(); err != nil {
			t.Error(err)
			return
		}
		pollAndSleep(t, out, e.threads[0].receive)
	}()
	<-done
}

// TestAReceiverKnowsThatItStoodStill: calls end by patience, and what is longer between two of them was none.
func TestAReceiverKnowsThatItStoodStill(t *testing.T) {
	r := &receiver{}
	for _, ms := range []int64{5000, 5001, 5101, 5250, 8350, 8400} {
		r.live(ms * time.Millisecond.Nanoseconds())
	}
	if stood := time.Duration(r.stood.Load()); stood != 3*time.Second {
		t.Errorf("it was stopped for 3 s within a call, and stood for %s", stood)
	}
}

func pollAndSleep(t *testing.T, out *net.UDPConn, r *receiver) {
	r.calls.polls, r.calls.swift.is = true, true
	send := func() {
		if _, err := out.Write(make([]byte, 100)); err != nil {
			t.Error(err)
		}
	}
	send()
	if n, err := r.await(r.inlets[0]); n != 1 || err != nil || !r.calls.swift.is {
		t.Errorf("what was there: %d, %v, %+v", n, err, r.calls.swift)
	}
	go func() { time.Sleep(20 * time.Millisecond); send() }() // asleep by then
	if n, err := r.await(r.inlets[0]); n != 1 || err != nil {
		t.Errorf("what came later: %d, %v", n, err)
	}
	if vain := r.vain.Load(); vain < pollNS { // all that it asked before it slept
		t.Errorf("it asked in vain for %d ns", vain)
	}
	r.calls.swift, r.calls.priority.realTime = swift{is: true}, true
	if n, err := r.await(r.inlets[0]); n != 0 || err != nil || r.calls.swift.is || !r.calls.priority.realTime {
		t.Errorf("nothing for as long as a call waits: %d, %v, %+v", n, err, r.calls.swift)
	}
	send()
	if n, err := r.await(r.inlets[0]); n != 1 || err != nil || r.calls.priority.realTime {
		t.Errorf("after it: %d, %v, in real time: %t", n, err, r.calls.priority.realTime)
	}
}
