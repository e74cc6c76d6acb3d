//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"windtunnel/result"
)

// clocksOf has a host's clocks since boot be days later than this machine's and than those of the other hosts, as is so of machines
// that were started at other times: by a time namespace, as far as the kernel has those. There is none for the time of day.
func clocksOf(t testing.TB, host int) (unshare []string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/ns/time"); errors.Is(err, os.ErrNotExist) {
		t.Log("hosts have this machine's clocks: its kernel has no time namespaces")
		return nil
	}
	day := int64((24 * time.Hour).Seconds())
	return []string{"-T", "--monotonic", fmt.Sprint(int64(3+host*7)*day + 17), "--boottime", fmt.Sprint(int64(5+host*11)*day + 29)}
}

// clocksAreApart makes sure of it.
func (b *hostsBed) clocksAreApart(t testing.TB) {
	t.Helper()
	seen := map[string]bool{}
	for i, h := range b.hosts {
		if len(clocksOf(t, i)) == 0 {
			return
		}
		clock, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", h.pid))
		own, _ := os.Readlink("/proc/self/ns/time")
		if err != nil || clock == own || seen[clock] {
			t.Fatalf("h%d has the clocks of another host: %s, %v", i+1, clock, err)
		}
		seen[clock] = true
	}
}

// oneWindow looks at all that a run on hosts says of times: that each end and node has of its own clock what was asked for, that
// parts of a window are within it, and that samples of stacks add up to it. Nothing tells how long anything was on its way.
func oneWindow(t testing.TB, dir string) {
	t.Helper()
	run, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range run.Trials {
		if trial.Excluded != "" {
			continue
		}
		for name, node := range trial.Nodes {
			windowed(t, trial, name, node.WindowSeconds, 0.1)
			for _, part := range node.Intervals {
				windowed(t, trial, "an interval of "+name, part.To, late)
			}
		}
		for _, pair := range trial.Pairs {
			windowed(t, trial, pair.From, pair.Sender.WindowSeconds, 0.1)
			windowed(t, trial, pair.To, pair.Receiver.WindowSeconds, 0.1)
			for _, part := range append(pair.Sender.Intervals, pair.Receiver.Intervals...) {
				windowed(t, trial, "an interval", part.To, late)
			}
		}
	}
	sampled, taken := 0, uint64(0)
	for _, p := range run.Profiles {
		if p.Missing != "" {
			t.Logf("no stacks of %s: %s", p.Node, p.Missing)
			continue
		}
		sampled, taken = sampled+1, taken+p.Taken
		for i, idle := range p.IdleSeconds {
			if idle < 0 || idle > 1.1*p.WindowSeconds {
				t.Errorf("cell %s, node %s: CPU %d was idle for %g s of %g", p.Cell, p.Node, p.CPUs[i], idle, p.WindowSeconds)
			}
		}
	}
	if sampled > 0 && taken == 0 {
		t.Errorf("%d profiles have no sample", sampled)
	}
	t.Logf("%d trials, and %d samples in %d profiles, by clocks that are days apart", len(run.Trials), taken, sampled)
}

// late is by how many seconds parts may be over after their window: until the last that was under way has come.
const late = 60

// windowed allows for what a busy machine does to a window, and for nothing like the distance of two clocks.
func windowed(t testing.TB, trial result.Trial, whose string, seconds, off float64) {
	t.Helper()
	if least, most := -off, trial.WindowSeconds+off+0.1*trial.WindowSeconds; seconds < least || seconds > most {
		t.Errorf("cell %s: %s has %g s of a window of %g s", trial.Cell, whose, seconds, trial.WindowSeconds)
	}
}
