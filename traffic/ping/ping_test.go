package ping

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// congestion is cubic where this user may take it: some kernels keep it for root
// (tcp_allowed_congestion_control) and allow everybody reno.
var congestion = func() string {
	allowed, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if os.Geteuid() == 0 || slices.Contains(strings.Fields(string(allowed)), "cubic") {
		return "cubic"
	}
	return "reno"
}()

func with(o result.Options) result.Options {
	all := result.Options{"congestion": congestion}
	for name, value := range o {
		all[name] = value
	}
	return all
}

func prepare(t *testing.T, order traffic.Order) *worker {
	t.Helper()
	order.Load = with(order.Load)
	w, err := Kind{}.Prepare(t.Context(), order)
	if err != nil {
		t.Fatalf("preparing to %s: %v", order.Role, err)
	}
	t.Cleanup(func() { w.Close() })
	w.(*worker).tail = 60 * time.Millisecond
	return w.(*worker)
}

// pair is a receiver and a sender on loopback, prepared.
func pair(t *testing.T, o result.Options, host string) (send, receive *worker) {
	t.Helper()
	receive = prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: host})
	send = prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	return send, receive
}

// soon leaves time for both ends to stand: making hot threads stops the world, which
// waits for those that already run.
func soon(window time.Duration) traffic.Schedule {
	return traffic.Schedule{Start: time.Now().Add(40 * time.Millisecond), WarmUp: 20 * time.Millisecond, Window: window}
}

type finished struct {
	end result.PairEnd
	err error
}

func runBoth(ctx context.Context, send, receive *worker, when traffic.Schedule) (s, r finished) {
	var both sync.WaitGroup
	both.Go(func() { s.end, s.err = send.Run(ctx, when) })
	both.Go(func() { r.end, r.err = receive.Run(ctx, when) })
	both.Wait()
	return s, r
}

// attempts is how often a short trial may be spoilt by others on the machine, who hold
// a thread for longer than its window, and latest is how late a sender may be then.
const (
	attempts = 6
	latest   = 0.02 // s
	shortly  = 60 * time.Millisecond
)

// undisturbed repeats a trial until neither end says that something went wrong, nor the sender's own lag that it had no CPU.
func undisturbed(t *testing.T, trial func(t *testing.T) (s, r finished)) (s, r finished) {
	t.Helper()
	s, r, _ = undisturbedIn(t, 0, func(t *testing.T, _ time.Duration) (s, r finished) { return trial(t) })
	return s, r
}

// undisturbedIn is the same of a trial whose window may be longer, as it is after one in which something went wrong: others may have had
// the CPUs for all of it. It returns the window of the last trial, too.
func undisturbedIn(t *testing.T, window time.Duration, trial func(t *testing.T, window time.Duration) (s, r finished)) (s, r finished, took time.Duration) {
	t.Helper()
	late := false
	for try := range attempts {
		s, r = trial(t, window)
		failed := s.err != nil || r.err != nil || s.end.Error+r.end.Error != ""
		late = !failed && s.end.Offered.Lag != nil && s.end.Offered.Lag.Max > latest
		if !failed && !late {
			return s, r, window
		}
		t.Logf("attempt %d: %s, %v %s; %v %s; late %v", try, window, s.err, s.end.Error, r.err, r.end.Error, late)
		if failed {
			window *= 3
		}
	}
	if late {
		t.Skipf("this machine held the sender up for more than %g s in each of %d attempts", latest, attempts)
	}
	t.Fatal("no attempt was clean")
	return s, r, window
}

// loads are the ways in which ping runs.
var loads = map[string]result.Options{
	"closed TCP":                  {},
	"closed UDP":                  {"protocol": "udp"},
	"closed TCP, many flows":      {"flows": 7, "threads": 2},
	"closed UDP, many flows":      {"protocol": "udp", "flows": 7, "threads": 2},
	"closed TCP, other sizes":     {"message": 70000, "response": 100},
	"closed TCP, long answers":    {"message": 100, "response": 300000},
	"closed UDP, other sizes":     {"protocol": "udp", "message": 1400, "response": 9000},
	"open TCP":                    {"rate": 2000.0},
	"open UDP":                    {"protocol": "udp", "rate": 2000.0},
	"open TCP, many flows":        {"rate": 3000.0, "flows": 5, "threads": 2, "arrivals": "poisson"},
	"open UDP, many flows":        {"protocol": "udp", "rate": 3000.0, "flows": 5, "threads": 2, "arrivals": "poisson"},
	"open UDP of answer's size":   {"protocol": "udp", "rate": 2000.0, "message": helloSize, "response": answerSize},
	"closed TCP, busy polling":    {"poll": "busy"},
	"closed UDP, busy polling":    {"protocol": "udp", "poll": "busy"},
	"open UDP, busy, two flows":   {"protocol": "udp", "poll": "busy", "rate": 1000.0, "flows": 2},
	"closed TCP, busy, two flows": {"poll": "busy", "flows": 2},
	"from JSON":                   {"message": 16.0, "rate": 1000.0, "flows": 2.0, "wait": 0.5},
}

func TestEveryRequestIsAnswered(t *testing.T) {
	for name, o := range loads {
		t.Run(name, func(t *testing.T) {
			s, r, window := undisturbedIn(t, shortly, func(t *testing.T, window time.Duration) (s, r finished) {
				send, receive := pair(t, o, "127.0.0.1")
				return runBoth(t.Context(), send, receive, soon(window))
			})
			checkCounts(t, o, s.end, r.end, window)
		})
	}
}

// TestThePortableEngine does the same with the implementation that other systems
// use.
func TestThePortableEngine(t *testing.T) {
	for name, o := range loads {
		if o.Text("poll") == busy {
			continue // it has none
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, r, window := undisturbedIn(t, shortly, func(t *testing.T, window time.Duration) (s, r finished) {
				send, receive := pair(t, o, "127.0.0.1")
				send.make, receive.make = newPortableEngine, newPortableEngine
				return runBoth(t.Context(), send, receive, soon(window))
			})
			checkCounts(t, o, s.end, r.end, window)
		})
	}
}

// checkCounts holds what is true of every undisturbed pair.
func checkCounts(t *testing.T, o result.Options, s, r result.PairEnd, window time.Duration) {
	t.Helper()
	if s.Packets == 0 || r.Packets == 0 || s.Bytes == 0 || r.Bytes == 0 {
		t.Fatalf("counted too little: %+v and %+v", s, r)
	}
	a := s.Arrived
	if a.Expected != s.Packets+a.Lost+a.Late || a.Lost+a.Late+a.Duplicate+a.Corrupt != 0 {
		t.Errorf("requests were lost on loopback: %+v of %d", a, s.Packets)
	}
	actual := s.Latencies[result.LatencyActual]
	if actual.Count != s.Packets || actual.Min <= 0 || actual.Max < actual.P50 {
		t.Errorf("latencies of %d requests: %+v", s.Packets, actual)
	}
	rate := o.Float("rate")
	intended, isOpen := s.Latencies[result.LatencyIntended]
	if isOpen != (rate > 0) || (s.Offered.Lag != nil) != isOpen {
		t.Fatalf("an open loop's figures: %v, a rate: %g", isOpen, rate)
	}
	if !isOpen {
		if s.Offered.Method != "closed-loop" || !strings.Contains(s.Offered.Why, "coordinated omission") {
			t.Errorf("a closed loop does not say so: %+v", s.Offered)
		}
		return
	}
	if intended.Count != actual.Count || intended.P50 < actual.P50*0.99 || s.Offered.Lag.Count != s.Packets {
		t.Errorf("intended %+v, actual %+v, lag %+v", intended, actual, s.Offered.Lag)
	}
	due := math.Round(rate * window.Seconds())
	if o.Text("arrivals") == poisson {
		if n := float64(s.Packets); math.Abs(n-due) > 8*math.Sqrt(due) { // standard deviations
			t.Errorf("%g requests in %s at %g a second", n, window, rate)
		}
	} else if s.Packets != uint64(due) {
		t.Errorf("%d requests in %s at %g a second", s.Packets, window, rate)
	}
}

func TestOverIPv6(t *testing.T) {
	for _, protocol := range []string{"tcp", "udp"} {
		undisturbedIn(t, shortly, func(t *testing.T, window time.Duration) (s, r finished) {
			send, receive := pair(t, result.Options{"protocol": protocol, "flows": 2}, "::1")
			return runBoth(t.Context(), send, receive, soon(window))
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	cases := map[string]struct {
		load result.Options
		says string
	}{
		"message too large":   {result.Options{"message": maxMessage + 1}, "message"},
		"datagram too large":  {result.Options{"protocol": "udp", "message": maxDatagram + 1}, "fits in no UDP datagram"},
		"more threads":        {result.Options{"threads": 2}, "set flows to at least 2"},
		"no room for numbers": {result.Options{"protocol": "udp", "rate": 10.0, "message": 2}, "at least 4"},
		"few outstanding":     {result.Options{"rate": 10.0, "flows": 3, "outstanding": 2}, "at least 3"},
		"too much to keep":    {result.Options{"protocol": "udp", "rate": 5e6, "wait": 1.0}, "set wait to at most"},
		"no such protocol":    {result.Options{"protocol": "sctp"}, "protocol"},
		"no such arrivals":    {result.Options{"arrivals": "often"}, "arrivals"},
		"nothing arrives":     {result.Options{"arrivals": "poisson"}, "set rate"},
		"as it would be":      {result.Options{"arrivals": "fixed"}, "`arrivals: fixed` has no effect without rate: set rate, or leave arrivals out"},
		"nothing to bound":    {result.Options{"outstanding": 65536}, "`outstanding: 65536` has no effect without rate"},
		"congestion of UDP":   {result.Options{"protocol": "udp", "congestion": "reno"}, "leave congestion out, or set protocol to tcp"},
		"no such polling":     {result.Options{"poll": "sometimes"}, "poll"},
		"rate of nothing":     {result.Options{"rate": 0.0}, "rate"},
		"unknown congestion":  {result.Options{"congestion": "nosuch"}, "it has"},
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

func TestIntervals(t *testing.T) {
	for engineName, make := range engines {
		t.Run(engineName, func(t *testing.T) {
			var seen []result.Interval
			s, r := undisturbed(t, func(t *testing.T) (s, r finished) {
				send, receive := pair(t, result.Options{"rate": 2000.0, "flows": 2, "threads": 2}, "127.0.0.1")
				send.make, receive.make = make, make
				when := soon(250 * time.Millisecond)
				when.Interval, seen = 100*time.Millisecond, nil
				watched := when
				watched.Observe = func(i result.Interval) { seen = append(seen, i) }
				var both sync.WaitGroup
				both.Go(func() { s.end, s.err = send.Run(t.Context(), watched) })
				both.Go(func() { r.end, r.err = receive.Run(t.Context(), when) })
				both.Wait()
				return s, r
			})
			checkIntervals(t, s.end.Intervals, s.end.Packets)
			if !slices.Equal(seen, s.end.Intervals) {
				t.Errorf("observed %+v, kept %+v", seen, s.end.Intervals)
			}
			if len(r.end.Intervals) != len(s.end.Intervals) {
				t.Errorf("the receiver's intervals: %+v", r.end.Intervals)
			}
		})
	}
}

func checkIntervals(t *testing.T, got []result.Interval, packets uint64) {
	t.Helper()
	if len(got) != 4 { // the warm-up's, two whole ones and a half one
		t.Fatalf("%d intervals: %+v", len(got), got)
	}
	edges := []float64{-0.02, 0, 0.1, 0.2, 0.25}
	sum := uint64(0)
	for i, one := range got {
		if one.From != edges[i] || one.To != edges[i+1] || one.From >= 0 && one.LatencyP50 <= 0 || one.LatencyP99 < one.LatencyP50 || one.Bytes != one.Packets {
			t.Errorf("interval %d: %+v", i, one)
		}
		if one.From >= 0 {
			sum += one.Packets
		}
	}
	if sum < packets/2 || sum > packets*2 { // answers near an edge may come after it
		t.Errorf("the intervals hold %d answers, the window %d", sum, packets)
	}
}

func TestHistogramsMerge(t *testing.T) {
	s, _, _ := undisturbedIn(t, shortly, func(t *testing.T, window time.Duration) (s, r finished) {
		send, receive := pair(t, result.Options{"flows": 2, "threads": 2}, "127.0.0.1")
		return runBoth(t.Context(), send, receive, soon(window))
	})
	text, err := json.Marshal(s.end.Latencies[result.LatencyActual])
	if err != nil {
		t.Fatal(err)
	}
	var back result.Histogram
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	both, err := result.MergeHistograms(back, s.end.Latencies[result.LatencyActual])
	if err != nil || both.Count != 2*s.end.Packets || math.Abs(both.Max/back.Max-1) > 0.01 || math.Abs(both.Mean/back.Mean-1) > 0.01 {
		t.Errorf("merged %d times, at most %g, with themselves into %d, at most %g, %v", back.Count, back.Max, both.Count, both.Max, err)
	}
}

func TestCalibrate(t *testing.T) {
	for _, protocol := range []string{"tcp", "udp"} {
		perSecond, err := Kind{}.Calibrate(t.Context(), with(result.Options{"protocol": protocol, "rate": 10.0, "arrivals": poisson}), nil)
		if err != nil || perSecond < 100 {
			t.Errorf("%s: %g, %v", protocol, perSecond, err)
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	run := func() {
		for _, protocol := range []string{"tcp", "udp"} {
			o := result.Options{"protocol": protocol, "flows": 5, "threads": 2}
			send, receive := pair(t, o, "127.0.0.1")
			when := soon(30 * time.Millisecond)
			when.Interval = 10 * time.Millisecond
			runBoth(t.Context(), send, receive, when)
			send.Close()
			receive.Close()
			send, receive = pair(t, o, "127.0.0.1") // prepared, never run
			receive.Close()
			send.Close()
			prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"}).Close()
		}
	}
	run() // the first poll makes the runtime's own descriptors
	fds, goroutines, procs := countFDs(t), runtime.NumGoroutine(), runtime.GOMAXPROCS(0)
	run()
	if n := countFDs(t); n > fds {
		t.Errorf("%d descriptors, %d before", n, fds)
	}
	limit := time.Now().Add(2 * time.Second)
	for runtime.NumGoroutine() > goroutines && time.Now().Before(limit) {
		runtime.Gosched() // one that has done its work may not be gone yet
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := runtime.GOMAXPROCS(0); n != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", n, procs)
	}
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("cannot list descriptors:", err)
	}
	return len(entries)
}
