package datagram

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// pair is a receiver and a sender on loopback, prepared.
func pair(t *testing.T, o result.Options) (send, receive *worker) {
	t.Helper()
	receive = prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	send = prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	return send, receive
}

func prepare(t *testing.T, order traffic.Order) *worker {
	t.Helper()
	w, err := Kind{}.Prepare(t.Context(), order)
	if err != nil {
		t.Fatalf("preparing to %s: %v", order.Role, err)
	}
	t.Cleanup(func() { w.Close() })
	return w.(*worker)
}

func soon() traffic.Schedule {
	return traffic.Schedule{Start: time.Now().Add(50 * time.Millisecond), WarmUp: 20 * time.Millisecond, Window: 250 * time.Millisecond}
}

// ample is for a pair that cannot be run again: others may have the CPUs for longer than a short window.
func ample() traffic.Schedule {
	when := soon()
	when.Window = time.Second
	return when
}

type outcome struct {
	end result.PairEnd
	err error
}

func runBoth(ctx context.Context, send, receive *worker, when traffic.Schedule) (s, r outcome) {
	var both sync.WaitGroup
	both.Go(func() { s.end, s.err = send.Run(ctx, when) })
	both.Go(func() { r.end, r.err = receive.Run(ctx, when) })
	both.Wait()
	return s, r
}

// conserved checks one direction: every datagram of the window, and of the whole
// run, is received, lost, or late.
func conserved(t *testing.T, sent, taken result.PairEnd, from, to ledger) {
	t.Helper()
	a := taken.Arrived
	if a == nil || sent.Offered == nil || sent.Packets == 0 {
		t.Fatalf("nothing was counted: %+v %+v", sent, taken)
	}
	if a.Expected != sent.Packets || a.Expected != taken.Packets+a.Lost+a.Late {
		t.Errorf("the window's %d datagrams became %d received, %d lost, %d late of %d", sent.Packets, taken.Packets, a.Lost, a.Late, a.Expected)
	}
	if to.promised != from.sent || to.received.Packets > from.sent {
		t.Errorf("of the run's %d datagrams %d were told, %d came", from.sent, to.promised, to.received.Packets)
	}
	if a.Corrupt+a.Duplicate != 0 {
		t.Errorf("loopback made %d corrupt and %d duplicate datagrams", a.Corrupt, a.Duplicate)
	}
	if p := a.PerFlow; p == nil || p.Flows != uint64(a.Flows) || p.Came == 0 || p.Fewest*p.Flows > taken.Packets || p.Most*p.Flows < taken.Packets {
		t.Errorf("of %d datagrams by flows %+v", taken.Packets, p)
	}
	if sent.WindowSeconds < 0.01 || taken.WindowSeconds < 0.01 {
		t.Errorf("the windows took %g and %g s", sent.WindowSeconds, taken.WindowSeconds)
	}
}

// runPair runs a load between new ends, for longer where a busy machine left one
// of them no time.
func runPair(t *testing.T, o result.Options) (s, r result.PairEnd, send, receive *worker) {
	t.Helper()
	for when := soon(); ; when.Window *= 4 {
		send, receive = pair(t, o)
		when.Start = soon().Start
		atSender, atReceiver := runBoth(t.Context(), send, receive, when)
		s, r = atSender.end, atReceiver.end
		if atSender.err == nil && atReceiver.err == nil && s.Error+r.Error == "" {
			return s, r, send, receive
		}
		if starved := s.Error == traffic.ErrNothing.Error() || r.Error == traffic.ErrNothing.Error(); !starved || when.Window > 5*time.Second {
			t.Fatalf("a run failed: %v %v %s %s", atSender.err, atReceiver.err, s.Error, r.Error)
		}
	}
}

// TestNothingWasDue: the first of two seconds leaves in the warm-up, and the path is not to blame.
func TestNothingWasDue(t *testing.T) {
	for _, direction := range directions {
		var atSender, atReceiver outcome
		for when := soon(); when.WarmUp < time.Second; when.WarmUp *= 2 { // in which this machine may leave the sender no time
			send, receive := pair(t, result.Options{"packets": 0.5, "direction": direction})
			when.Start = soon().Start
			atSender, atReceiver = runBoth(t.Context(), send, receive, when)
			if atSender.end.Packets+atReceiver.end.Packets == 0 {
				break
			}
		}
		if direction == reverse {
			atSender, atReceiver = atReceiver, atSender
		}
		if says := atSender.end.Error; says != "no datagram was due in the window: at 0.5 a second it must be longer" {
			t.Errorf("%s: %q", direction, says)
		}
		if says := atReceiver.end.Error; direction != both && says != traffic.ErrNothing.Error() {
			t.Errorf("%s: the receiver says %q", direction, says)
		}
	}
}

func TestEveryDatagramHasAFate(t *testing.T) {
	cases := map[string]result.Options{
		"defaults":          {},
		"smallest":          {"message": shortSize},
		"off":               {"segmentation": "off", "aggregation": "off"},
		"a rate":            {"rate": 1e8},
		"a packet rate":     {"packets": 1e4, "message": 48},
		"flows on a thread": {"flows": 7, "packets": 7e4},
		"flows on threads":  {"flows": 64, "threads": 3, "rate": 1e9},
		"back":              {"direction": "reverse", "packets": 1e4, "flows": 3},
		"both ways":         {"direction": "both", "packets": 1e4, "flows": 3, "threads": 2},
		"from JSON":         {"flows": 2.0, "message": 1000.0, "buffer": 1048576.0, "packets": 5000.0},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			s, r, send, receive := runPair(t, o)
			switch o["direction"] {
			case "reverse":
				conserved(t, r, s, receive.ledger, send.ledger)
			case "both":
				conserved(t, *r.Opposite, *s.Opposite, receive.ledger, send.ledger)
				fallthrough
			default:
				conserved(t, s, r, send.ledger, receive.ledger)
			}
		})
	}
}

// TestATrialAloneIsConserved, whose sender ends soon after the window, and whose receiver waits less.
func TestATrialAloneIsConserved(t *testing.T) {
	send, receive := pair(t, result.Options{"packets": 1e4, "flows": 3, "threads": 2})
	when := ample()
	when.Alone = true
	s, r := runBoth(t.Context(), send, receive, when)
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
		t.Fatalf("%+v %+v", s, r)
	}
	conserved(t, s.end, r.end, send.ledger, receive.ledger)
}

// TestATrialAloneEndsWithAMark, however late its next datagram leaves: without it the receiver does not know when the window was over.
func TestATrialAloneEndsWithAMark(t *testing.T) {
	send, receive := pair(t, result.Options{"packets": 10.0})
	when := soon() // a datagram is due at 0, 100, 200 and 300 ms, the window ends at 250, and its tail at 270
	when.WarmUp, when.Alone = 0, true
	s, r := runBoth(t.Context(), send, receive, when)
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
		t.Fatal(s.err, r.err, s.end.Error, r.end.Error)
	}
	conserved(t, s.end, r.end, send.ledger, receive.ledger)
	if send.ledger.sent == s.end.Packets {
		t.Errorf("of %d datagrams none left behind the window", s.end.Packets)
	}
}

// TestWhenNothingIsBehindTheLast: on a path that overtakes none, once each flow's last datagram has come.
func TestWhenNothingIsBehindTheLast(t *testing.T) {
	r := run{peerSent: totals{{1, 7, 2}, {0, 5, 0}}}
	for name, c := range map[string]struct {
		flows []FlowCounts
		have  uint64
		last  bool
	}{
		"all":            {[]FlowCounts{{Packets: 10, Expected: 10}, {Packets: 5, Expected: 5}}, 15, true},
		"but the middle": {[]FlowCounts{{Packets: 8, Expected: 10}, {Packets: 5, Expected: 5}}, 13, true},
		"but the last":   {[]FlowCounts{{Packets: 10, Expected: 10}, {Packets: 4, Expected: 4}}, 14, false},
		"none of a flow": {[]FlowCounts{{Packets: 10, Expected: 10}, {}}, 10, false},
		"one overtaken":  {[]FlowCounts{{Packets: 8, Expected: 10}, {Packets: 4, Expected: 5, Reordered: 1}}, 12, false},
		"one late":       {[]FlowCounts{{Packets: 8, Late: 1, Expected: 10}, {Packets: 5, Expected: 5}}, 14, false},
	} {
		if have, sent, last := r.come(c.flows); have != c.have || sent != 15 || last != c.last {
			t.Errorf("%s: %d of %d, the last: %v", name, have, sent, last)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	cases := map[string]struct {
		load result.Options
		says string
	}{
		"message too small": {result.Options{"message": shortSize - 1}, "message"},
		"message too large": {result.Options{"message": maxPayload + 1}, "message"},
		"more threads":      {result.Options{"threads": 2}, "set flows to at least 2"},
		"no burst":          {result.Options{"threads": 2, "flows": 2, "burst": 1, "packets": 10.0}, "set burst to at least 2"},
		"nothing to burst":  {result.Options{"burst": 3}, "`burst: 3` has no effect without rate or packets: set rate or packets, or leave burst out"},
		"a rate to poll at": {result.Options{"poll": "busy", "rate": 1e6}, "`poll: busy` has no effect beside a rate"},
		"packets to poll":   {result.Options{"poll": "busy", "packets": 10.0}, "`poll: busy` has no effect beside a rate"},
		"flows to poll":     {result.Options{"poll": "busy", "flows": 4, "threads": 2}, "`poll: busy` has no effect for 4 flows of 2 threads"},
		"another word":      {result.Options{"segmentation": "perhaps"}, "perhaps"},
		"no flow":           {result.Options{"flows": 0}, "flows"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Load: c.load, Address: "127.0.0.1"})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want a word of %q", err, c.says)
			}
		})
	}
}

func TestIntervalsAddUp(t *testing.T) {
	for range 5 {
		send, receive := pair(t, result.Options{"packets": 1e4})
		when := soon()
		when.WarmUp, when.Interval = 50*time.Millisecond, 20*time.Millisecond
		var observed []result.Interval
		quiet := when
		when.Observe = func(i result.Interval) { observed = append(observed, i) }
		var r outcome
		var both sync.WaitGroup
		both.Go(func() { r.end, r.err = receive.Run(t.Context(), quiet) })
		end, err := send.Run(t.Context(), when)
		both.Wait()
		if err != nil || r.err != nil || len(end.Intervals) == 0 || len(end.Intervals) != len(observed) {
			t.Fatalf("%v %v, %d intervals, %d observed", err, r.err, len(end.Intervals), len(observed))
		}
		packets := uint64(0)
		for i, v := range end.Intervals {
			if v != observed[i] || v.To <= v.From || i > 0 && v.From != end.Intervals[i-1].To {
				t.Errorf("interval %d is %+v, observed %+v", i, v, observed[i])
			}
			if v.From > -0.001 {
				packets += v.Packets
			}
		}
		// The clock of a busy machine may leave few of them, and not where they belong.
		near := packets > end.Packets*9/10 && packets < end.Packets*11/10
		if near && end.Intervals[0].From < 0 && len(end.Intervals) > 8 && len(r.end.Intervals) > 8 {
			return
		}
		t.Logf("%d intervals with %d of %d datagrams, %d at the receiver", len(end.Intervals), packets, end.Packets, len(r.end.Intervals))
	}
	t.Error("the intervals never were where they belong")
}

func TestStrangersAreTurnedAway(t *testing.T) {
	o := result.Options{"flows": 2, "packets": 1e4}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	mute := dial(t, receive.Address())
	garbage := dial(t, receive.Address())
	garbage.Write([]byte(strings.Repeat("GET / HTTP/1.0\r\n", 10)))
	expectClosed(t, garbage)
	_, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Send, Address: receive.Address()})
	if err == nil || !strings.Contains(err.Error(), "another number of flows") {
		t.Errorf("a sender of one flow: %v", err)
	}
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	expectClosed(t, mute)
	stranger, err := net.Dial("udp", receive.Address()) // the first thread's port has the same number
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	for range 10 {
		stranger.Write(make([]byte, 1400))
	}
	s, r := runBoth(t.Context(), send, receive, ample())
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
		t.Fatalf("strangers disturbed the run: %+v %+v", s, r)
	}
	conserved(t, s.end, r.end, send.ledger, receive.ledger)
}

func TestAnotherVersionIsToldSo(t *testing.T) {
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	conn := dial(t, receive.Address())
	greeting := hello{version: version + 1, flows: 1}.encode()
	conn.Write(greeting[:])
	if _, err := readAnswer(conn, 1); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("got %v", err)
	}
}

// whatEnded is a run's reason: an error where a busy machine let the window begin
// too late.
func whatEnded(end result.PairEnd, err error) string {
	if err != nil {
		return err.Error()
	}
	return end.Error
}

// fakeSender is a sender under the test's control: agreed, its flow open.
func fakeSender(t *testing.T, address string) *session { return fakeSenderAfter(t, address, 0) }

// fakeSenderAfter is one whose first datagram needs a while.
func fakeSenderAfter(t *testing.T, address string, way time.Duration) *session {
	t.Helper()
	l, err := parseLoad(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{load: l, key: newKey(), conn: dial(t, address)}
	ports, err := s.ask()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(way)
	if err := s.openAll(t.Context(), ports); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func TestReceiverOutlivesItsSender(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		does func(*session)
		says string
	}{
		"is killed":    {func(s *session) { s.conn.Close() }, "went away"},
		"is silent":    {func(*session) {}, "it is silent"},
		"by hand":      {func(*session) {}, "it is silent"},
		"babbles":      {func(s *session) { s.conn.Write(make([]byte, noteSize)) }, "means nothing"},
		"lies":         {func(s *session) { s.tell(noteTotals, make([]byte, 7)) }, "totals have 7 bytes"},
		"claims 4 GiB": {func(s *session) { s.conn.Write([]byte{noteTotals, 255, 255, 255, 255}) }, "went away"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
			s := fakeSender(t, receive.Address())
			when := soon()
			when.OneOff = name == "by hand" // then it waits on where something comes
			b := template(s.load.message, nil)
			longHeader{s.key}.Put(b, Stamp{Mark: markWindow})
			s.conns[0].Write(b)
			time.AfterFunc(time.Until(when.Start)+when.WarmUp+50*time.Millisecond, func() { c.does(s) })
			began := time.Now()
			end, err := receive.Run(t.Context(), when)
			if says := whatEnded(end, err); !strings.Contains(says, c.says) {
				t.Errorf("got %q, want a word of %q", says, c.says)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("took %s to see it", took)
			}
		})
	}
}

// senderToAFake is one of 1000 datagrams a second, and the session of its receiver, which is a fake.
func senderToAFake(t *testing.T) (send *worker, s *session) {
	t.Helper()
	address, agreed := fakeReceiver(t)
	send = prepare(t, traffic.Order{Role: traffic.Send, Address: address, Load: result.Options{"packets": 1000}})
	s = <-agreed
	t.Cleanup(s.close)
	return send, s
}

// fakeReceiver answers one sender and opens what it asks for.
func fakeReceiver(t *testing.T) (address string, agreed <-chan *session) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	come := make(chan *session, 1)
	go func() {
		defer close(come)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		var b [helloSize]byte
		io.ReadFull(conn, b[:])
		h, _ := decodeHello(b[:])
		l, _ := parseLoad(nil)
		s := &session{load: l, key: h.key, conn: conn, whole: make(chan struct{})}
		if s.accept(func() bool { return false }) == nil {
			s.welcome()
			come <- s
		}
	}()
	return ln.Addr().String(), come
}

func TestSenderOutlivesItsReceiver(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		does func(*session)
		says string
	}{
		"is killed":       {func(s *session) { s.conn.Close() }, "went away"},
		"closes its port": {func(s *session) { s.conns[0].Close() }, "port unreachable"},
		"is silent":       {func(*session) {}, "it is silent"},
		"by hand":         {func(*session) {}, "it is silent"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, s := senderToAFake(t)
			when := soon()
			when.OneOff = name == "by hand"
			time.AfterFunc(time.Until(when.Start)+when.WarmUp+50*time.Millisecond, func() { c.does(s) })
			began := time.Now()
			end, err := send.Run(t.Context(), when)
			if says := whatEnded(end, err); !strings.Contains(says, c.says) || name == "closes its port" && err == nil && end.Packets == 0 {
				t.Errorf("got %q beside %d datagrams, want a word of %q", says, end.Packets, c.says)
			}
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("took %s to see it", took)
			}
		})
	}
}

func TestNobodyComes(t *testing.T) {
	t.Parallel()
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	when := traffic.Schedule{Start: time.Now().Add(-lateSender), Window: time.Second}
	if _, err := receive.Run(t.Context(), when); err == nil || !strings.Contains(err.Error(), "no sender") {
		t.Errorf("got %v", err)
	}
}

func TestCancelAndCloseEndARun(t *testing.T) {
	for _, how := range []string{"cancel", "close"} {
		t.Run(how, func(t *testing.T) {
			send, receive := pair(t, result.Options{"flows": 4, "threads": 2, "packets": 1e4})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			when := soon()
			when.Window, when.Interval = time.Minute, 20*time.Millisecond
			moving := make(chan struct{}, 1000)
			when.Observe = func(i result.Interval) {
				if i.From > 0 && i.Packets > 0 {
					moving <- struct{}{}
				}
			}
			go func() { // each end has been in the window for a while, or one for long
				for range 20 {
					<-moving
				}
				if how == "cancel" {
					cancel()
					return
				}
				go send.Close()
				receive.Close()
			}()
			s, r := runBoth(ctx, send, receive, when)
			for _, got := range []outcome{s, r} {
				if says := whatEnded(got.end, got.err); says == "" {
					t.Errorf("no reason: %+v", got)
				}
				if how == "cancel" && !errors.Is(got.err, context.Canceled) && got.err != nil {
					t.Errorf("got %v", got.err)
				}
			}
			if s.end.Packets+r.end.Packets == 0 {
				t.Errorf("no counts beside the reasons: %+v %+v", s, r)
			}
		})
	}
}

func TestCloseDuringAHandshake(t *testing.T) {
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	conn := dial(t, receive.Address())
	l, _ := parseLoad(nil)
	greeting := helloOf(l, newKey()).encode()
	conn.Write(greeting[:])
	if _, err := readAnswer(conn, 1); err != nil {
		t.Fatal(err)
	}
	began := time.Now() // the receiver waits for an opening datagram that never comes
	receive.Close()
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %s to close", took)
	}
}

func TestNothingIsLeft(t *testing.T) {
	fds, goroutines := countFDs(t), runtime.NumGoroutine()
	procs := runtime.GOMAXPROCS(0)
	for range 3 {
		send, receive := pair(t, result.Options{"flows": 5, "threads": 2, "direction": "both", "packets": 1e4})
		runBoth(t.Context(), send, receive, soon())
		send.Close()
		receive.Close()
		unused, unstarted := pair(t, result.Options{"flows": 5, "threads": 2})
		unstarted.Close()
		unused.Close()
	}
	if n := countFDs(t); n > fds+1 { // the first poll makes the runtime's own
		t.Errorf("%d descriptors, %d before", n, fds)
	}
	// A goroutine that is waited for may still be on its way out.
	for deadline := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := runtime.GOMAXPROCS(0); n != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", n, procs)
	}
}

// TestACalibrationThatSharesItsCPU counts what the sender reaches while it has one.
func TestACalibrationThatSharesItsCPU(t *testing.T) {
	at := time.Now()
	before := Snapshot{At: at, Flows: make([]FlowCounts, 1), Send: traffic.ThreadTime(0, 0)}
	after := Snapshot{At: at.Add(300 * time.Millisecond), Flows: []FlowCounts{{Packets: 1000}},
		Send: traffic.ThreadTime(100*time.Millisecond, 200*time.Millisecond)}
	if got, err := ownRate(before, after); got != 10_000 || err != nil {
		t.Errorf("%g packets/s, want 10,000", got)
	}
}

func TestCalibrate(t *testing.T) {
	perSecond, err := Kind{}.Calibrate(t.Context(), result.Options{"rate": 1e6, "flows": 2}, nil)
	if _, burst := (Kind{}).Calibrate(t.Context(), result.Options{"burst": 8}, nil); burst != nil { // of a search's load, which has no rate yet
		t.Error(burst)
	}
	if err != nil || perSecond < 1000 { // far above the rate, which does not count here
		t.Errorf("got %g datagrams a second, %v", perSecond, err)
	}
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("cannot list descriptors:", err)
	}
	return len(entries)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func expectClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger's connection still stands: %v", err)
	}
}
