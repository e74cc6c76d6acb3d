package ntttcp

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

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
	if s := sent.Outcomes[0]; s.Calls != 50 || s.Bytes != 50*14000 || s.Packets != 500 {
		t.Errorf("sent %d bytes in %d calls and %d datagrams, want 50 of 14000 and 500", s.Bytes, s.Calls, s.Packets)
	}
	if r := received.Outcomes[0]; r.Bytes != 50*14000 || r.Calls > 500 || r.Packets != 500 {
		t.Errorf("received %d bytes in %d calls and %d datagrams, want 500", r.Bytes, r.Calls, r.Packets)
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
