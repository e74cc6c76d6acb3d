package datagram

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// tried is a trial whose turns brought what rate says, and which way each went.
func tried(rate func(turn int, polls bool) float64, lost map[bool]uint64) (t pollTrial, polled []bool) {
	t.Turns = traffic.NewTurns(pollPairs)
	all := turnNumbers{777, 77}
	polls := t.next(12345, all) // whatever came before it
	for turn := range 2 * pollPairs {
		polled = append(polled, polls)
		all.expected, all.lost = all.expected+1000, all.lost+lost[polls]
		polls = t.next(rate(turn, polls), all)
	}
	return t, polled
}

// TestATrialOfPollingThatLoses: more comes, and more is lost.
func TestATrialOfPollingThatLoses(t *testing.T) {
	third := func(_ int, polls bool) float64 { return map[bool]float64{false: 300, true: 400}[polls] }
	for _, c := range []struct {
		slept, polled uint64
		polls         bool
	}{{0, 15, true}, {0, 30, false}, {100, 110, true}, {100, 130, false}, {50, 0, true}} {
		if got, _ := tried(third, map[bool]uint64{false: c.slept, true: c.polled}); got.polls != c.polls {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

func TestATrialOfPolling(t *testing.T) {
	for _, c := range []struct {
		name  string
		rate  func(turn int, polls bool) float64
		polls bool
		gain  float64 // 0: whatever
	}{
		{"polling brings a third", func(_ int, polls bool) float64 { return map[bool]float64{false: 300, true: 400}[polls] }, true, 4. / 3},
		{"nothing", func(int, bool) float64 { return 300 }, false, 1},
		{"less", func(_ int, polls bool) float64 { return map[bool]float64{false: 400, true: 300}[polls] }, false, 0.75},
		{"a rate that grows", func(turn int, _ bool) float64 { return float64(100 + 30*turn) }, false, 0},
		{"a rate that falls", func(turn int, _ bool) float64 { return float64(400 - 30*turn) }, false, 0},
		{"a turn without a CPU", func(turn int, polls bool) float64 {
			if turn == 0 { // of those that sleep
				return 0
			}
			return map[bool]float64{false: 300, true: 303}[polls]
		}, false, 1.01},
		{"nothing came to one that slept", func(_ int, polls bool) float64 { return map[bool]float64{true: 300}[polls] }, false, 0},
	} {
		got, polled := tried(c.rate, nil)
		if got.running() || got.polls != c.polls || c.gain > 0 && math.Abs(got.gain()-c.gain) > 1e-9 {
			t.Errorf("%s: %+v, gain %g", c.name, got, got.gain())
		}
		if got.next(1, turnNumbers{}) != c.polls || got.next(1e9, turnNumbers{}) != c.polls {
			t.Errorf("%s: it changes its mind", c.name)
		}
		if want := []bool{false, true, true, false, true, false, false, true}; !slices.Equal(polled, want) {
			t.Errorf("%s: turns %v", c.name, polled)
		}
	}
}

// decides is a receiver of poll: auto, hot and alone, whose next turn brought so many messages of so many datagrams each.
func decides(t *testing.T, r *receiver) func(messages, each int) (polls bool) {
	now := int64(0)
	return func(messages, each int) bool {
		d := &r.calls.doze
		*d = doze{came: messages, bytes: messages * each * r.config.Message, next: now + burstNS}
		now += burstNS
		return r.toPoll(true, now)
	}
}

func autoReceiver(t *testing.T) *receiver {
	t.Helper()
	out, in := ends(t, "udp4", "127.0.0.1")
	t.Cleanup(func() { out.Close() })
	e := newEngine(t, Config{Message: 1400, Codec: longHeader{testKey}, Poll: pollAuto}, Flow{Conn: in, Role: traffic.Receive})
	return e.threads[0].receive
}

// TestAReceiverTriesToPoll in the warm-up, where datagrams come one by one.
func TestAReceiverTriesToPoll(t *testing.T) {
	if !severalCPUs() {
		t.Skip("skip: needs two CPUs")
	}
	r := autoReceiver(t)
	next := decides(t, r)
	for range 2 {
		if next(1000, 40) || r.calls.trial.running() {
			t.Fatal("it tries while aggregates come")
		}
	}
	polls := next(8000, 1)
	for range 2 * pollPairs {
		if polls {
			polls = next(900, 12) // what waited has been joined
		} else {
			polls = next(8000, 1)
		}
	}
	if gain := r.engine.PollGain(); !polls || math.Abs(gain-1.35) > 1e-9 {
		t.Errorf("it polls: %t, gain %g", polls, gain)
	}
	if release := traffic.HoldHot(1); next(900, 12) {
		release()
		t.Error("it keeps the CPU from another test of this process")
	} else {
		release()
	}
	if !next(900, 12) {
		t.Error("it does not poll again once it is alone")
	}
}

// TestATrialThatIsDisturbed ends without a choice.
func TestATrialThatIsDisturbed(t *testing.T) {
	if !severalCPUs() {
		t.Skip("skip: needs two CPUs")
	}
	for name, disturb := range map[string]func(r *receiver, next func(int, int) bool){
		"aggregates":        func(r *receiver, next func(int, int) bool) { next(1000, 40) },
		"too little":        func(r *receiver, _ func(int, int) bool) { r.toPoll(false, 1) },
		"the window begins": func(r *receiver, _ func(int, int) bool) { r.mark = 1; r.arrived(1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := autoReceiver(t)
			next := decides(t, r)
			if next(8000, 1) || !r.calls.trial.running() {
				t.Fatalf("no trial: %+v", r.calls.trial)
			}
			disturb(r, next)
			if polls := next(8000, 1); polls || r.calls.trial.running() || r.engine.PollGain() != 0 {
				t.Errorf("%+v", r.calls.trial)
			}
		})
	}
}

// TestAReceiverGoesOnPolling where what waits for it is joined, so that its messages are few, and not where next to nothing comes.
func TestAReceiverGoesOnPolling(t *testing.T) {
	out, in := ends(t, "udp4", "127.0.0.1")
	defer out.Close()
	e := newEngine(t, Config{Message: 1400, Codec: longHeader{testKey}, Poll: pollBusy, KeepPriority: true}, Flow{Conn: in, Role: traffic.Receive})
	r := e.threads[0].receive
	r.inlets[0].socket.own, r.inlets[0].socket.connected = false, true // to another host
	for i, c := range []struct {
		messages, each int
		polls          bool
	}{{500, 12, false}, {8000, 1, true}, {500, 12, true}, {50, 12, false}, {500, 12, false}} {
		r.calls.doze = doze{came: c.messages, bytes: c.messages * c.each * 1400}
		if r.decide(0); r.calls.polls != c.polls {
			t.Errorf("%d: after %d messages of %d datagrams it polls: %t", i, c.messages, c.each, r.calls.polls)
		}
	}
}

// TestAReceiverBoundToOneCPUTriesToPoll: the machine has others.
func TestAReceiverBoundToOneCPUTriesToPoll(t *testing.T) {
	if !severalCPUs() {
		t.Skip("skip: needs two CPUs")
	}
	if os.Getenv("BOUND_TO_ONE_CPU") == "" {
		bound := exec.Command("taskset", "-c", strconv.Itoa(firstCPU(t)), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		bound.Env = append(os.Environ(), "BOUND_TO_ONE_CPU=yes")
		if out, err := bound.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	r := autoReceiver(t)
	if next := decides(t, r); next(8000, 1) || !r.calls.trial.running() {
		t.Errorf("no trial: %+v", r.calls.trial)
	}
}

// firstCPU is one that this process may use.
func firstCPU(t *testing.T) int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no CPU")
	return 0
}
