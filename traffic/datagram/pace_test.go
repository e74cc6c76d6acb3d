package datagram

import (
	"math"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"windtunnel/traffic"
)

// leave is one datagram that a pacer let go, in virtual time.
func drive(p *pacer, until int64, late func() int64) (leave []int64) {
	for now := int64(p.due); now < until; {
		n, release := p.take(now, math.MaxInt)
		if n == 0 {
			now = release + late()
			continue
		}
		for range n {
			leave = append(leave, now)
		}
		now += 100 // a send takes a little
		if p.left > 0 {
			now += late()
		}
	}
	return leave
}

// overshoots reports how many datagrams more than allowed left within any span.
func overshoots(leave []int64, perSecond float64, depth int, span int64) int {
	worst, first := 0, 0
	for last := range leave {
		for leave[last]-leave[first] > span {
			first++
		}
		allowed := depth + int(math.Ceil(perSecond*float64(leave[last]-leave[first])/1e9))
		worst = max(worst, last-first+1-allowed)
	}
	return worst
}

func TestPacerNeverOvershoots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.Float64Range(10, 3e6).Draw(t, "rate")
		depth := rapid.IntRange(0, 300).Draw(t, "depth")
		bunch := rapid.IntRange(0, 100).Draw(t, "bunch")
		p := newPacer(perSecond, depth, bunch, rapid.IntRange(1, 200).Draw(t, "largest"), 1e9)
		if depth > 0 && p.depth != depth+2*bunch || p.batch > p.depth {
			t.Fatalf("asked for a depth of %d, got %d and batches of %d", depth, p.depth, p.batch)
		}
		stalls := rapid.SliceOfN(rapid.Int64Range(0, 30e6), 1, 20).Draw(t, "stalls")
		i := 0
		leave := drive(&p, 1e9+int64(min(1e9, 5000*1e9/perSecond)), func() int64 { i++; return stalls[i%len(stalls)] })
		for _, span := range []int64{0, 1e6, 10e6, 100e6} {
			if over := overshoots(leave, perSecond, p.depth, span); over > 0 {
				t.Fatalf("%d datagrams too many within %s at %g/s, depth %d", over, time.Duration(span), perSecond, p.depth)
			}
		}
	})
}

// TestPacerKeepsTheRate is what a caller gets that is late by less than the depth.
func TestPacerKeepsTheRate(t *testing.T) {
	for _, perSecond := range []float64{10, 999, 8928.6, 1e4, 1e6, 9e6} {
		for _, bunch := range []int{0, 1, 20, 1000} {
			keepsTheRate(t, perSecond, bunch)
		}
	}
}

func keepsTheRate(t *testing.T, perSecond float64, bunch int) {
	t.Helper()
	p := newPacer(perSecond, 0, bunch, max(200, bunch), 0) // a bunch is one call, else the lateness of each adds up
	turn := int64(0)
	leave := drive(&p, 2e9, func() int64 { turn += 977; return turn % 1e6 })
	if got := float64(len(leave)) / 2; math.Abs(got-perSecond) > perSecond/1000+1+float64(bunch) {
		t.Errorf("%g/s became %g/s with bunches of %d", perSecond, got, bunch)
	}
	if held := float64(p.batch-1) * p.gap; bunch == 0 && held > smoothNS {
		t.Errorf("at %g/s a batch of %d holds a datagram for %g ns", perSecond, p.batch, held)
	}
}

// TestPacerKeepsBunchesTogether: each leaves whole, when its first datagram is due.
func TestPacerKeepsBunchesTogether(t *testing.T) {
	for _, largest := range []int{1, 7, 64} {
		p := newPacer(1000, 0, 20, largest, 0)
		leave := drive(&p, 1e9-1, func() int64 { return 0 })
		if len(leave) != 1000 {
			t.Fatalf("%d left in a second of 1000/s", len(leave))
		}
		for i, at := range leave {
			if due := int64(i/20) * 20e6; at < due || at > due+20*101 {
				t.Fatalf("in calls of %d datagram %d left at %s, with its bunch it is due at %s", largest, i, time.Duration(at), time.Duration(due))
			}
		}
	}
}

// TestPacerTellsAStall forfeits what is beyond the depth and records all of the lag.
func TestPacerTellsAStall(t *testing.T) {
	p := newPacer(1000, 4, 0, 1, 0)
	if n, release := p.take(50e6, 10); n != 1 || release != 0 {
		t.Errorf("after 50 ms %d left that were due at %d", n, release)
	}
	sent := 1
	for ; ; sent++ {
		if n, _ := p.take(50e6, 10); n == 0 {
			break
		}
	}
	if sent != 4 {
		t.Errorf("%d left at once, the depth is 4", sent)
	}
}

func TestPacerWithoutARate(t *testing.T) {
	p := newPacer(0, 5, 0, 64, 7)
	if n, release := p.take(1000, 10); n != 10 || release != 1000 {
		t.Errorf("%d may leave, meant for %d", n, release)
	}
}

// TestRateIsKept sends for real and looks at the times that the datagrams carry.
// A second in which the thread had to wait for a CPU is tried again.
func TestRateIsKept(t *testing.T) {
	for name, c := range map[string]Config{
		"100 Mbit/s": {Message: 1400, BitsPerSecond: 100e6},
		"10 kpps":    {Message: 64, PacketsPerSecond: 10e3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Codec = longHeader{testKey}
			for range 6 {
				perSecond := c.packetsPerSecond()
				leave, sent, waited, depth := sendForASecond(t, c)
				if over := overshoots(leave, perSecond, depth, 10e6); over > 0 {
					t.Fatalf("%d datagrams too many within 10 ms, the burst is %d", over, depth)
				}
				got := float64(sent)
				if math.Abs(got-perSecond) <= perSecond/100 {
					return
				}
				t.Logf("%g datagrams in a second, not %g; the thread waited %s for a CPU", got, perSecond, waited)
				if waited < 5*time.Millisecond && runtime.GOOS == "linux" { // elsewhere nobody tells
					t.Fatal("and it had the CPU")
				}
			}
			t.Skip("the thread had no second with the CPU to itself")
		})
	}
}

// stolen is what a hypervisor took of the CPU of which it took most, so far; 0 where nobody tells.
func stolen() (most time.Duration) {
	each, _ := traffic.Steal()
	for _, of := range each {
		most = max(most, of)
	}
	return most
}

// sendForASecond returns when the datagrams that came had left, and how many left
// in one second, in which the thread waited for a CPU, or its host did.
func sendForASecond(t *testing.T, c Config) (leave []int64, sent uint64, waited time.Duration, depth int) {
	out, in := ends(t, "udp4", "127.0.0.1")
	defer in.Close()
	in.SetReadBuffer(1 << 20)
	e := newEngine(t, c, Flow{Conn: out, Role: traffic.Send})
	defer e.Close()
	e.Start()
	before, taken := e.Snapshot(), stolen()
	b := make([]byte, 2048)
	next, begin := uint64(0), uint64(0)
	for {
		in.SetReadDeadline(time.Now().Add(5 * time.Second))
		n, err := in.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := c.Codec.Get(b[:n])
		if !ok || s.Seq < next {
			t.Fatalf("datagram %d came as %+v", next, s)
		}
		leave, next = append(leave, s.Sent), s.Seq+1
		if s.Sent > leave[0]+int64(50*time.Millisecond) && begin == 0 {
			begin = s.Seq
		}
		sent = s.Seq - begin
		// The first 50 ms are the threads' own start.
		if s.Sent > leave[0]+int64(1050*time.Millisecond) {
			break
		}
	}
	return leave, sent, e.Snapshot().Send.Since(before.Send).Wait + stolen() - taken, e.Burst()
}

// TestWhatAThreadSleptThroughIsMissed: what is given up after a pause, and not after a call that took as long.
func TestWhatAThreadSleptThroughIsMissed(t *testing.T) {
	near, far := ends(t, "udp4", "127.0.0.1")
	defer far.Close()
	e := newEngine(t, Config{Message: 100, PacketsPerSecond: 1000}, Flow{Conn: near, Role: traffic.Send})
	s := e.threads[0].send
	for _, slept := range []bool{false, true} {
		before := s.missed.Load()
		s.pace()
		s.slept = slept
		e.clock.base = e.clock.base.Add(-time.Second) // the clock goes on by that
		if err := s.burst(); err != nil {
			t.Fatal(err)
		}
		if missed := time.Duration(s.missed.Load() - before); slept != (missed > 900*time.Millisecond) || missed > 1500*time.Millisecond {
			t.Errorf("slept: %v: %s are missed of a second", slept, missed)
		}
	}
}
