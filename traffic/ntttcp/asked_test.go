package ntttcp

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/traffic"
)

// pairBegins runs a receiver that listens already beside a sender.
func pairBegins(t *testing.T, r *Receiver, send Test) (sent, received Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() {
		var err error
		if received, err = r.Run(ctx); err != nil {
			t.Errorf("receiving: %v", err)
		}
	})
	sent, err := Run(ctx, send)
	both.Wait()
	if err != nil {
		t.Errorf("sending: %v", err)
	}
	if t.Failed() {
		t.FailNow()
	}
	return sent, received
}

// TestReceiverStaysForUDP takes part in one test after the other (-H -u).
func TestReceiverStaysForUDP(t *testing.T) {
	for _, sync := range []Sync{SyncLinux, SyncNone} {
		t.Run(string(sync), func(t *testing.T) {
			t.Parallel()
			send, receive := pairOf(t, sync, 1, 1)
			for _, test := range []*Test{&send, &receive} {
				test.UDP, test.Message, test.BitsPerSecond = true, 1000, 8e6
			}
			r, err := receive.Listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for range 2 {
				sent, received := pairBegins(t, r, send)
				within(t, sent, received)
			}
		})
	}
}

// TestAVisitorEndsNoReceiver: who connects and leaves to a receiver without sync
// ends nobody's test.
func TestAVisitorEndsNoReceiver(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncNone, 1, 1)
	send.Run, receive.Run = 300*time.Millisecond, 2*time.Second
	connected := make(chan struct{})
	receive.Say = func(e Event) {
		if e.What == Progressing {
			close(connected)
		}
	}
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	visitor, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(send.Threads[0].Port)))
	if err != nil {
		t.Fatal(err)
	}
	var received Report
	var receiving sync.WaitGroup
	receiving.Go(func() { received, err = r.Run(t.Context()) })
	<-connected
	visitor.Close()
	sent, failed := Run(t.Context(), send)
	receiving.Wait()
	if failed != nil || err != nil || received.Outcomes[0].Bytes == 0 {
		t.Errorf("%v, %v: sent %+v, received %+v", failed, err, sent, received)
	}
}

// TestAReceiverCountsItsBuffers ends after its own -n, whatever the sender has left.
func TestAReceiverCountsItsBuffers(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncWindows, 2, 1)
	send.Run, receive.Run, receive.Messages = 20*time.Second, 20*time.Second, 100
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var received Report
	var receiving sync.WaitGroup
	receiving.Go(func() { received, err = r.Run(t.Context()); r.Close() })
	sent, failed := Run(t.Context(), send)
	receiving.Wait()
	if failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	for i, thread := range received.Outcomes[0].Threads {
		if thread.Bytes != 100*uint64(receive.Message) {
			t.Errorf("thread %d took %d bytes, want 100 of %d", i, thread.Bytes, receive.Message)
		}
	}
	if received.Early != "" || sent.seconds() > 10 {
		t.Errorf("sent %+v, received %+v", sent, received)
	}
}

// TestLongerDatagramsAreCutAndSaid: a buffer takes no more than it holds.
func TestLongerDatagramsAreCutAndSaid(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	send.UDP, send.Message, send.BitsPerSecond = true, 1400, 8e6
	receive.UDP, receive.Message = true, 1000
	var said []string
	receive.Say = func(e Event) {
		if e.What == Noted {
			said = append(said, e.Text)
		}
	}
	_, received := runPair(t, send, receive)
	if o := received.Outcomes[0]; o.Bytes == 0 || o.Bytes != 1000*o.Calls {
		t.Errorf("received %d bytes in %d calls, want 1000 of each", o.Bytes, o.Calls)
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "longer than this end's buffer of 1000 bytes") }) {
		t.Errorf("said %q", said)
	}
}

// TestCutBuffersAreOneCall: a sender that has its buffers cut made one call of each.
func TestCutBuffersAreOneCall(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncWindows, 1, 1)
	send.UDP, send.Message, send.Datagram, send.Messages, send.BitsPerSecond = true, 14000, 1400, 50, 8e6
	send.Run, receive.Run = 20*time.Second, 20*time.Second
	receive.UDP, receive.Message, receive.Coalesce, receive.Messages = true, 1400, true, 500
	sent, received := runPair(t, send, receive)
	if s := sent.Outcomes[0]; s.Calls != 50 || s.Bytes != 50*14000 {
		t.Errorf("sent %d bytes in %d calls, want 50 of 14000", s.Bytes, s.Calls)
	}
	if r := received.Outcomes[0]; r.Bytes != 50*14000 || r.Calls > 500 {
		t.Errorf("received %d bytes in %d calls", r.Bytes, r.Calls)
	}
}

// TestNobodyListensToLinuxUDP: ntttcp-for-linux's sender sends on for its time.
func TestNobodyListensToLinuxUDP(t *testing.T) {
	t.Parallel()
	send, _ := pairOf(t, SyncNone, 1, 1)
	send.UDP, send.Message, send.BitsPerSecond, send.GoesOn = true, 1000, 8e6, true
	report, err := Run(t.Context(), send)
	if err != nil || report.Early != "" || report.seconds() < 0.25 || report.Outcomes[0].Bytes == 0 {
		t.Errorf("%v: %+v", err, report)
	}
}

// TestConnectionsGoWhereTheirThreadsAre: each CPU of -m has its own hot thread.
func TestConnectionsGoWhereTheirThreadsAre(t *testing.T) {
	test := &Test{Threads: []Thread{{CPU: 0}, {CPU: 1}, {CPU: -1}, {CPU: 0}}}
	conns := []dialled{{thread: 3}, {thread: 1}, {thread: 2}, {thread: 0}, {thread: 1}}
	var got [][]int
	for _, group := range test.byCPU(conns) {
		var threads []int
		for _, d := range group {
			threads = append(threads, d.thread)
		}
		got = append(got, threads)
	}
	if fmt.Sprint(got) != "[[0 3] [1 1] [2]]" {
		t.Errorf("grouped as %v", got)
	}
	if hot, cpus := test.hotThreads(2, 1), test.cpus(1); hot != 1 || !slices.Equal(cpus, []int{1}) {
		t.Errorf("CPU 1 has %d hot threads on %v", hot, cpus)
	}
	if cpus := test.cpus(-1); len(cpus) != 0 {
		t.Errorf("any CPU became %v", cpus)
	}
}

// TestNobodyJoinsAFleetThatHasHalted, and what comes is closed.
func TestNobodyJoinsAFleetThatHasHalted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(&Test{Role: traffic.Receive, Message: 1000, Threads: []Thread{{CPU: -1}}})
	f.start()
	f.halt()
	if err := f.add([]dialled{{0, conn}}); err != nil || len(f.all()) != 0 {
		t.Errorf("%v: %d crews", err, len(f.all()))
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("the connection is open")
	}
	f.close()
}

// TestALoudCallerHoldsNoReceiverUp: goodbyes without end do not keep a receiver
// from its end, nor does a crowd keep a sender out.
func TestALoudCallerHoldsNoReceiverUp(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sync := net.JoinHostPort("127.0.0.1", fmt.Sprint(send.Threads[0].Port-1))
	for range maxCallers + 6 {
		conn, err := net.Dial("tcp", sync)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	loud, err := net.Dial("tcp", sync)
	if err != nil {
		t.Fatal(err)
	}
	defer loud.Close()
	go func() {
		writeMessage(loud, askState)
		writeMessage(loud, 1)
		for writeMessage(loud, askEnd) == nil {
			time.Sleep(goodbye / 4)
		}
	}()
	pairBegins(t, r, send)
	began := time.Now()
	r.Close()
	if took := time.Since(began); took > 4*goodbye {
		t.Errorf("closing took %s", took)
	}
}
