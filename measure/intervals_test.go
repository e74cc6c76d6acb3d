package measure

import (
	"errors"
	"math"
	"testing"
	"time"
)

// idleAt is a reading of two CPUs' idle clocks.
func idleAt(at, first, second time.Duration) Snapshot {
	r := idleReading{at: at, cpus: map[int]time.Duration{4: first, 7: second}}
	return Snapshot{at: at, config: Config{CPUs: []int{7, 4}}, cpu: cpuReading{idle: read(r, nil)}}
}

func TestIntervalsAreBusySharesByCPU(t *testing.T) {
	const ms = time.Millisecond
	readings := []Snapshot{idleAt(1000*ms, 0, 500*ms), idleAt(1100*ms, 100*ms, 525*ms), idleAt(1300*ms, 150*ms, 525*ms)}
	got := Intervals(readings)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, want := range [][4]float64{{0, 0.1, 0.75, 0}, {0.1, 0.3, 1, 0.75}} {
		g := got[i]
		for j, v := range []float64{g.From, g.To, g.Busy[0], g.Busy[1]} {
			if math.Abs(v-want[j]) > 1e-9 {
				t.Errorf("interval %d: %+v, want %v", i, g, want)
			}
		}
	}
}

func TestIntervalsWithoutAClockAreLeftOut(t *testing.T) {
	lost := idleAt(1100*time.Millisecond, 0, 0)
	lost.cpu.idle.err = errors.New("permission denied")
	readings := []Snapshot{idleAt(time.Second, 0, 0), lost, idleAt(1200*time.Millisecond, 0, 0), idleAt(1300*time.Millisecond, 0, 0)}
	if got := Intervals(readings); len(got) != 1 || math.Abs(got[0].From-0.2) > 1e-9 {
		t.Errorf("%+v", got)
	}
	if got := Intervals(nil); got != nil {
		t.Errorf("%+v of nothing", got)
	}
}
