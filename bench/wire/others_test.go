package wire

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"windtunnel/ktime"
)

// TestOthersHaveTheTimeOfAProcess while it runs, and when it has ended and its parent has waited for it.
func TestOthersHaveTheTimeOfAProcess(t *testing.T) {
	const used = 200 * time.Millisecond
	const rounding = 2 * ktime.Tick // of both times of what was reaped
	reaped := reapedTime(os.Getpid())
	before := otherTime(nil)
	spin := exec.Command("sh", "-c", "while :; do :; done")
	if err := spin.Start(); err != nil {
		t.Fatal(err)
	}
	defer StopProcess(spin)
	for deadline := time.Now().Add(20 * time.Second); cpuTime(spin.Process.Pid) < used; {
		if time.Now().After(deadline) {
			t.Fatal("the process got no CPU")
		}
		time.Sleep(time.Millisecond)
	}
	if had := otherTime(nil) - before; had < used-rounding {
		t.Errorf("others had %v while a process had %v", had, used)
	}
	if all, but := otherTime(nil), otherTime([]int{spin.Process.Pid}); all-but < used-rounding {
		t.Errorf("without the process others had %v of %v", but, all)
	}
	StopProcess(spin)
	if had := reapedTime(os.Getpid()) - reaped; had < used-rounding {
		t.Errorf("what was waited for had %v of %v", had, used)
	}
	if now := cpuTime(spin.Process.Pid); now != 0 {
		t.Errorf("a process that has ended has %v", now)
	}
}

func TestReapedTime(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"R 0 1 1 0 -1 4194560 0 0 0 0 900 800 7 5 20 0 1 0": 120 * time.Millisecond,
		"S 0 1 1 0 -1 4194560 0 0 0 0 9 8 3 0 20 0":         30 * time.Millisecond,
		"R 0 1 1 0 -1 4194560 0 0 0 0 900 800 7":            70 * time.Millisecond,
		"R":                                                 0,
		"":                                                  0,
	} {
		if got := reapedIn(strings.Fields(stat)); got != want {
			t.Errorf("%q: %v, want %v", stat, got, want)
		}
	}
}
