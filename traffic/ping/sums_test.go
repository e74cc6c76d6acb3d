package ping

import (
	"fmt"
	"testing"
	"time"

	"windtunnel/result"
)

// TestIntervalsAddUpToTheTotals: whichever way payload flows, and however many answers come after the window or not at all.
func TestIntervalsAddUpToTheTotals(t *testing.T) {
	sums := map[string]result.Options{
		"all reads":              {"reads": 100, "message": 4096},
		"all writes":             {"reads": 0, "message": 4096},
		"reads and writes":       {"reads": 70, "message": 65536, "flows": 3, "threads": 2},
		"reads at once":          {"reads": 50, "message": 512, "depth": 32},
		"reads at a rate":        {"reads": 30, "message": 4096, "rate": 2000.0},
		"reads of a small piece": {"reads": 50, "message": 1},
	}
	for name, o := range loads {
		if o.Text("poll") != busy {
			sums[name] = o
		}
	}
	for engine := range engines {
		for name, o := range sums {
			if depth, set := o["depth"]; set && depth != 1 && engine == "portable" {
				continue
			}
			t.Run(fmt.Sprint(engine, " ", name), func(t *testing.T) {
				s, r, _ := undisturbedIn(t, shortly, func(t *testing.T, window time.Duration) (s, r finished) {
					send, receive := pair(t, o, "127.0.0.1")
					send.make, receive.make = engines[engine], engines[engine]
					when := soon(window)
					when.Interval = 25 * time.Millisecond // the last one is shorter
					return runBoth(t.Context(), send, receive, when)
				})
				checkSums(t, s.end)
				checkSums(t, r.end)
			})
		}
	}
}

// TestIntervalsAddUpWithLosses drops some requests over UDP and answers others late: most of the lost are so after the window.
func TestIntervalsAddUpWithLosses(t *testing.T) {
	for engine := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s, _ := undisturbed(t, func(t *testing.T) (s, r finished) {
				send, receive := through(t, result.Options{"protocol": "udp", "rate": 2000.0, "message": 200, "wait": 0.1}, func(receiver string) string {
					return relayDatagrams(t, receiver, hooks{forth: func(number uint64) int {
						if number%10 == 0 {
							return 0
						}
						return 1
					}, back: func(number uint64) time.Duration {
						if number%50 == 1 {
							return 150 * time.Millisecond
						}
						return 0
					}}).address()
				})
				send.make, receive.make = engines[engine], engines[engine]
				when := soon(150 * time.Millisecond)
				when.Interval = 40 * time.Millisecond
				return runBoth(t.Context(), send, receive, when)
			})
			if a := s.end.Arrived; a.Lost == 0 || a.Late == 0 {
				t.Fatalf("nothing was lost or late: %+v", a)
			}
			checkSums(t, s.end)
		})
	}
}

// TestAWarmUpThatNobodyTakesIsDropped: an interval grows while the watcher has no room, but not from the warm-up into the window.
func TestAWarmUpThatNobodyTakesIsDropped(t *testing.T) {
	s := newSteps(0, plan{start: -20, from: 0, to: 100, stop: 120, interval: 10}, make(chan step), nil)
	s.take(&ended{intended: -5, sent: -5, done: -4, state: answered}, false)
	s.take(&ended{intended: -1, sent: -1, done: 3, state: answered}, false)   // of the warm-up
	s.take(&ended{intended: 4, sent: 4, done: 14, state: answered}, false)    // in the interval that grows
	s.take(&ended{intended: 99, sent: 99, done: 115, state: answered}, false) // after the window's end
	s.take(&ended{intended: 101, sent: 101, done: 116, state: answered}, false)
	if s.now.index != 0 || s.now.packets != 2 || s.now.writes != 2 {
		t.Errorf("%+v, want 2 requests in interval 0", s.now)
	}
}

// checkSums holds the window's intervals against its totals.
func checkSums(t *testing.T, end result.PairEnd) {
	t.Helper()
	var sum result.Interval
	within := uint64(0)
	for _, i := range end.Intervals {
		if i.From < 0 {
			continue
		}
		sum.Bytes += i.Bytes
		sum.BackBytes += i.BackBytes
		sum.Packets += i.Packets
		sum.Lost += i.Lost
		within += i.InTime()
	}
	if within != end.InWindow() {
		t.Errorf("the window's intervals have %d answers that came in them, the window %d", within, end.InWindow())
	}
	want := result.Interval{Bytes: end.Bytes, BackBytes: sum.BackBytes, Packets: end.Packets}
	if end.Arrived != nil { // a late answer was lost and came
		want.Packets, want.Lost = end.Packets+end.Arrived.Late, end.Arrived.Lost+end.Arrived.Late
	}
	if end.Opposite != nil {
		want.BackBytes = end.Opposite.Bytes
	}
	if sum != want || sum.Bytes+sum.BackBytes == 0 {
		t.Errorf("the window's %d intervals hold %+v, its totals %+v", len(end.Intervals), sum, want)
	}
}
