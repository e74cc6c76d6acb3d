package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestMain looks for goroutines of ours that outlive the tests.
func TestMain(m *testing.M) {
	portsGiven.Store(time.Now().UnixMicro()) // other packages' tests look for ports, too
	code := m.Run()
	var left string
	for range 100 {
		if left = ourGoroutines(); left == "" {
			os.Exit(code)
		}
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Printf("goroutines are left:\n%s", left)
	os.Exit(1)
}

// ourGoroutines are the stacks of all goroutines of this package but the caller's.
func ourGoroutines() string {
	stacks := make([]byte, 1<<20)
	var ours []string
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "windtunnel/traffic/") && !strings.Contains(stack, "TestMain") {
			ours = append(ours, stack)
		}
	}
	return strings.Join(ours, "\n\n")
}

// portsGiven counts the ports that freePorts has given: tests that begin at one
// moment find the same ones free.
var portsGiven atomic.Int64

// freePorts finds a base so that everything from base-1 to base+n and the token
// ports above were free a moment ago. They lie in 11000 to 20999, below those that
// systems give to connections by themselves and those of the tests of command,
// which run beside these; and a thousand of bases alternates with the thousand of
// their token ports, which a server opens later than its other ones.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 2000 {
		taken := n + 7
		given := int(portsGiven.Add(int64(taken))-int64(taken)) % (5 * tokenOffset)
		base := 11001 + given/tokenOffset*2*tokenOffset + given%tokenOffset
		if given%tokenOffset < tokenOffset-taken && portsFree(base-1, n+2) && portsFree(base+tokenOffset, n+1) {
			return base
		}
	}
	t.Fatal("no free ports")
	return 0
}

func portsFree(from, n int) bool {
	for port := from; port < from+n; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// pairOf is a sender and a receiver of one test on loopback.
func pairOf(t *testing.T, sync Sync, threads, connections int) (send, receive Test) {
	base := freePorts(t, threads)
	both := Test{Sync: sync, Message: 64 << 10, SendBuffer: -1, ReceiveBuffer: -1, Run: 300 * time.Millisecond}
	if sync == SyncLinux {
		both.Run = time.Second // the least that its ends can agree on
	}
	for i := range threads {
		both.Threads = append(both.Threads, Thread{Host: "127.0.0.1", Port: base + i, CPU: -1, Connections: connections})
	}
	send, receive = both, both
	send.Role, receive.Role = traffic.Send, traffic.Receive
	receive.Threads = slices.Clone(both.Threads)
	receive.Exact = sync == SyncWindows
	return send, receive
}

// runPair runs both ends; the receiver listens before the sender starts.
func runPair(t *testing.T, send, receive Test) (sent, received Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := receive.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var both sync.WaitGroup
	both.Go(func() {
		if received, err = r.Run(ctx); err != nil {
			t.Errorf("receiving: %v", err)
		}
	})
	var failed error
	if sent, failed = Run(ctx, send); failed != nil {
		t.Errorf("sending: %v", failed)
		cancel()
	}
	both.Wait()
	return sent, received
}

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

// within checks that both ends' windows saw about the same: they begin and end a
// little apart.
func within(t *testing.T, sent, received Report) {
	t.Helper()
	if len(sent.Outcomes) != 1 || len(received.Outcomes) != 1 {
		t.Fatalf("sent %+v, received %+v", sent, received)
	}
	s, r := sent.Outcomes[0], received.Outcomes[0]
	// Buffers of a slow moment hold much of what a sender has handed over.
	slack := s.Bytes / 2
	if s.RTT > 0 { // TCP
		slack = max(slack, 64<<20)
	}
	if s.Bytes == 0 || r.Bytes > s.Bytes+slack || s.Bytes > r.Bytes+slack {
		t.Errorf("sent %d bytes in %.3f s, received %d in %.3f s", s.Bytes, s.Seconds, r.Bytes, r.Seconds)
	}
	if sent.Early != "" || received.Early != "" {
		t.Errorf("early: %q, %q", sent.Early, received.Early)
	}
	for i, thread := range r.Threads {
		if thread.Bytes == 0 {
			t.Errorf("thread %d received nothing", i)
		}
	}
}

// TestPairs runs one pair after the other: each has hot threads for both CPUs of a
// small machine, and every thread must get a turn within its short window.
func TestPairs(t *testing.T) {
	for name, c := range map[string]struct {
		sync  Sync
		conns int
		udp   bool
		v6    bool
		share bool
	}{
		"linux": {sync: SyncLinux, conns: 3}, "windows": {sync: SyncWindows, conns: 1}, "none": {sync: SyncNone, conns: 2},
		"linux udp": {sync: SyncLinux, conns: 1, udp: true}, "windows udp": {sync: SyncWindows, conns: 1, udp: true},
		"none udp": {sync: SyncNone, conns: 1, udp: true}, "linux v6": {sync: SyncLinux, conns: 1, v6: true},
		"windows v6": {sync: SyncWindows, conns: 1, v6: true}, "windows -sp": {sync: SyncWindows, conns: 1, share: true},
		"windows -sp v6": {sync: SyncWindows, conns: 1, share: true, v6: true}, "linux udp v6": {sync: SyncLinux, conns: 1, udp: true, v6: true},
	} {
		t.Run(name, func(t *testing.T) {
			send, receive := pairOf(t, c.sync, 3, c.conns)
			for _, test := range []*Test{&send, &receive} {
				test.UDP, test.IPv6, test.SharePort = c.udp, c.v6, c.share
				for i := range test.Threads {
					if c.v6 {
						test.Threads[i].Host = "::1"
					}
					if c.share && test.Role == traffic.Send {
						test.Threads[i].Port = test.Threads[0].Port
					}
				}
				if c.udp {
					test.Message, test.BitsPerSecond = 1000, 8e6
				}
			}
			sent, received := runPair(t, send, receive)
			within(t, sent, received)
		})
	}
}

// TestEveryBufferArrives counts exactly: a number of buffers instead of a time.
func TestEveryBufferArrives(t *testing.T) {
	const buffers, length = 200, 1390
	for name, c := range map[string]struct {
		sync Sync
		udp  bool
	}{
		"windows": {SyncWindows, false}, "none": {SyncNone, false}, "windows udp": {SyncWindows, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, receive := pairOf(t, c.sync, 2, 1)
			for _, test := range []*Test{&send, &receive} {
				test.Messages, test.Message, test.UDP, test.Run, test.Exact = buffers, length, c.udp, 20*time.Second, true
				if c.udp {
					test.BitsPerSecond = 8e6
				}
			}
			sent, received := runPair(t, send, receive)
			if len(sent.Outcomes) != 1 || len(received.Outcomes) != 1 {
				t.Fatalf("sent %+v, received %+v", sent, received)
			}
			const each = buffers * length
			for i := range send.Threads {
				if s, r := sent.Outcomes[0].Threads[i].Bytes, received.Outcomes[0].Threads[i].Bytes; s != each || r != each {
					t.Errorf("thread %d sent %d bytes, %d were received, want %d of each thread", i, s, r, each)
				}
			}
			want := uint64(len(send.Threads) * each)
			if sent.Outcomes[0].Bytes != want || received.Outcomes[0].Bytes != want || sent.Outcomes[0].Calls != want/length {
				t.Errorf("sent %+v, received %+v, want %d bytes", sent, received, want)
			}
			if sent.Early != "" || received.Early != "" || sent.seconds() > 10 {
				t.Errorf("sent %+v, received %+v", sent, received)
			}
		})
	}
}

// TestSendersStartTogether has three senders at a receiver with -M.
func TestSendersStartTogether(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 2, 1)
	receive.Many = true
	send.Run = 20 * time.Second // the receiver's second counts
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := receive.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all sync.WaitGroup
	var received Report
	all.Go(func() { received, err = r.Run(ctx) })
	sent := make([]Report, 3)
	waits := make(chan struct{}, 3)
	for i := range sent {
		test := send
		test.Last = i == 2
		test.Say = func(e Event) {
			if e.What == Waiting {
				waits <- struct{}{}
			}
		}
		if test.Last {
			<-waits
			<-waits
		}
		all.Go(func() {
			var err error
			if sent[i], err = Run(ctx, test); err != nil {
				t.Errorf("sender %d: %v", i, err)
			}
		})
	}
	all.Wait()
	var bytes uint64
	for i, report := range sent {
		if len(report.Outcomes) != 1 || report.Outcomes[0].Bytes == 0 || report.seconds() > 5 {
			t.Fatalf("sender %d: %+v", i, report)
		}
		bytes += report.Outcomes[0].Bytes
	}
	if err != nil || received.Outcomes[0].Connections != 6 || received.Outcomes[0].Bytes == 0 {
		t.Errorf("%v: received %+v of %d bytes", err, received, bytes)
	}
}

// Trap (e): the receiver's longer time holds; what is left of it after the
// sender's own is cool-down.
func TestLongerTimeHolds(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	receive.Run = 3 * time.Second
	var events []What
	send.Say = func(e Event) { events = append(events, e.What) }
	began := time.Now()
	sent, received := runPair(t, send, receive)
	if took := time.Since(began); took < 3*time.Second || took > 15*time.Second {
		t.Errorf("the test took %s", took)
	}
	if s := sent.seconds(); s > 2.9 || received.seconds() < 2.4 || sent.Early+received.Early != "" {
		t.Errorf("sent %+v, received %+v", sent, received)
	}
	want := []What{Agreed, Connected, Progressing, Completed, CoolingDown, CycleEnded}
	if !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}
}

// TestASenderWaitsNoLongerThanItIsTo for a receiver: NTttcp for Windows' -to is of the sender, too.
func TestASenderWaitsNoLongerThanItIsTo(t *testing.T) {
	t.Parallel()
	for _, sync := range []Sync{SyncWindows, SyncNone} {
		send, _ := pairOf(t, sync, 1, 1)
		send.Wait = 50 * time.Millisecond
		if _, err := Run(t.Context(), send); err == nil || !strings.Contains(err.Error(), "nobody answered within 50ms") {
			t.Errorf("%s: %v", sync, err)
		}
	}
}

// TestWhatWasNotTriedIsNoReceiverThatIsMissing: where no packet could be sent, the receiver may well be there.
func TestWhatWasNotTriedIsNoReceiverThatIsMissing(t *testing.T) {
	for host, want := range map[string]string{"::1": "no IPv4 address", "127.0.0.1": "no IPv6 address", "fe80::1": "by which interface"} {
		send, _ := pairOf(t, SyncLinux, 1, 1)
		send.Threads[0].Host, send.IPv6 = host, host != "::1"
		if _, err := Run(t.Context(), send); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "start it first") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestWarmUpIsNotCounted(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncWindows, 1, 1)
	edges := 0
	for _, test := range []*Test{&send, &receive} {
		test.WarmUp, test.CoolDown, test.Sample = 300*time.Millisecond, 200*time.Millisecond, 400*time.Millisecond
	}
	send.BitsPerSecond, send.Message = 80e6, 1000
	send.Run, receive.Run = time.Second, time.Second
	send.Edge = func(bool) { edges++ }
	sent, received := runPair(t, send, receive)
	if len(sent.Outcomes) != 3 || len(received.Outcomes) != 3 || edges != 6 {
		t.Fatalf("sent %+v, received %+v, %d edges: want samples of 0.4, 0.4 and 0.2 s", sent, received, edges)
	}
	bytes := sent.Outcomes[0].Bytes + sent.Outcomes[1].Bytes + sent.Outcomes[2].Bytes
	if limit := 11e6 * sent.seconds(); float64(bytes) > limit {
		t.Errorf("%d bytes in %.3f s at 10 MB/s: the warm-up is counted", bytes, sent.seconds())
	}
}

// Trap (a): what is proposed is never a letter.
func TestSenderProposesNoLetter(t *testing.T) {
	for _, seconds := range []int{69, 76, 82, 88} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		proposed := make(chan int32, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			readMessage(conn)
			writeMessage(conn, notBegun)
			value, _ := readMessage(conn)
			proposed <- value
		}()
		said := 0
		test := Test{
			Role: traffic.Send, Sync: SyncLinux, Message: 1000, SendBuffer: -1, ReceiveBuffer: -1, Run: time.Duration(seconds) * time.Second,
			Threads: []Thread{{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port + 1, CPU: -1, Connections: 1}},
			Say: func(e Event) {
				if e.What == Adjusted {
					said = e.N
				}
			},
		}
		if _, err := Run(t.Context(), test); err == nil {
			t.Error("a receiver that goes away was no error")
		}
		if got := <-proposed; got != int32(seconds)+1 || said != seconds+1 {
			t.Errorf("%d s: proposed %d, said %d", seconds, got, said)
		}
		l.Close()
	}
}

// TestInterruptedSenderEndsTheTest: it says E, and both ends report what was.
func TestInterruptedSenderEndsTheTest(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	send.Run, receive.Run = 20*time.Second, 20*time.Second
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	send.Observe = func(uint64, time.Duration) { cancel() }
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var both sync.WaitGroup
	var sent, received Report
	both.Go(func() { received, _ = r.Run(t.Context()) })
	if sent, err = Run(stop, send); err != nil {
		t.Fatal(err)
	}
	both.Wait()
	if sent.Early != string(byUser) || received.Early == "" || len(sent.Outcomes) != 1 || len(received.Outcomes) != 1 || received.seconds() > 10 {
		t.Errorf("sent %+v, received %+v", sent, received)
	}
}

// TestASlowScreenIsNoStandstill: what an end takes its time for itself, as to show a line, is not for how long it stood still.
func TestASlowScreenIsNoStandstill(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	send.Run, receive.Run = 1200*time.Millisecond, 1200*time.Millisecond
	send.Observe = func(uint64, time.Duration) { time.Sleep(400 * time.Millisecond) }
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var both sync.WaitGroup
	both.Go(func() { r.Run(t.Context()) })
	sent, err := Run(t.Context(), send)
	if both.Wait(); err != nil || len(sent.Outcomes) != 1 || sent.Outcomes[0].Stood >= 550*time.Millisecond {
		t.Errorf("%+v, %v", sent, err)
	}
}

// TestStrangersDoNotTakeAPort: data connections of somebody else, silent or gone,
// lie on a receiver's port before its sender comes.
func TestStrangersDoNotTakeAPort(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncWindows, 1, 1)
	receive.Threads[0].Host = ""
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for _, port := range []int{send.Threads[0].Port, send.Threads[0].Port, send.Threads[0].Port + tokenOffset} {
		conn, err := dialer.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Skipf("no second address on this machine's loopback: %v", err)
		}
		defer conn.Close()
	}
	sent, received := pairBegins(t, r, send)
	within(t, sent, received)
}

// TestReceiverStays takes part in one test after the other (-H).
func TestReceiverStays(t *testing.T) {
	for name, c := range map[string]struct {
		sync Sync
		udp  bool
	}{"linux": {SyncLinux, false}, "linux udp": {SyncLinux, true}, "none udp": {SyncNone, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, receive := pairOf(t, c.sync, 1, 1)
			for _, test := range []*Test{&send, &receive} {
				if test.UDP = c.udp; c.udp {
					test.Message, test.BitsPerSecond = 1000, 8e6
				}
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

// TestPortsThatAreNoneAreNamedAll: of 16 from 65530 on "the ports 65535 to 65536" were said to be needed.
func TestPortsThatAreNoneAreNamedAll(t *testing.T) {
	test, _ := pairOf(t, SyncLinux, 1, 1)
	test.Threads = nil
	for i := range 16 {
		test.Threads = append(test.Threads, Thread{Port: 65530 + i, Connections: 1, CPU: -1})
	}
	if _, err := Run(t.Context(), test); err == nil || !strings.Contains(err.Error(), "the ports 65529 to 65545;") {
		t.Error(err)
	}
}

func TestImpossibleTestsAreRefused(t *testing.T) {
	good, _ := pairOf(t, SyncLinux, 1, 1)
	for name, spoil := range map[string]func(*Test){
		"no threads": func(t *Test) { t.Threads = nil },
		"no bytes":   func(t *Test) { t.Message = 0 },
		"huge":       func(t *Test) { t.Message = MaxMessage + 1 },
		"huge UDP":   func(t *Test) { t.UDP, t.Message = true, MaxDatagram+1 },
		"port 1":     func(t *Test) { t.Threads = []Thread{{Port: 1, Connections: 1}} },
		"port 65000": func(t *Test) { t.Sync = SyncWindows; t.Threads = []Thread{{Port: 65000, Connections: 1}} },
		"-sp, 65535": func(t *Test) {
			t.Sync, t.Role, t.SharePort, t.Threads = SyncNone, traffic.Receive, true, []Thread{{Port: 65535}}
		},
		"-sp, 64535": func(t *Test) {
			t.Sync, t.Role, t.SharePort, t.Threads = SyncWindows, traffic.Receive, true, []Thread{{Port: 64535}}
		},
		"a crowd":      func(t *Test) { t.Threads = []Thread{{Port: 5001, Connections: maxConnections + 1}} },
		"1000 threads": func(t *Test) { t.Sync = SyncWindows; t.Threads = slices.Repeat([]Thread{{Port: 5001}}, tokenOffset) },
	} {
		test := good
		spoil(&test)
		if _, err := Run(t.Context(), test); !errors.As(err, new(Impossible)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
