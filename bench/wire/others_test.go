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
	const rounding = 2 * ktime.Tick                                                                  // of both times of what was reaped
	mine := func() time.Duration { return readOthers(nil)[os.Getpid()].used - cpuTime(os.Getpid()) } // of those it has waited for
	reaped, before := mine(), readOthers(nil)
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
	if had := readOthers(nil).since(before); had < used-rounding {
		t.Errorf("others had %v while a process had %v", had, used)
	}
	if all, but := readOthers(nil).since(before), readOthers([]int{spin.Process.Pid}).since(before); all-but < used-rounding {
		t.Errorf("without the process others had %v of %v", but, all)
	}
	StopProcess(spin)
	if had := mine() - reaped; had < used-rounding {
		t.Errorf("what was waited for had %v of %v", had, used)
	}
	if now := cpuTime(spin.Process.Pid); now != 0 {
		t.Errorf("a process that has ended has %v", now)
	}
}

// TestOthersThatEnd: what has a parent that waits is in that one's time, but a thread of the kernel's is nobody's, and takes nothing along.
func TestOthersThatEnd(t *testing.T) {
	const s = time.Second
	before := others{1: {used: 5 * s}, 7: {used: 3 * s}, 9: {used: 60 * s, isKernel: true}, 11: {used: 2 * s, isKernel: true}}
	now := others{1: {used: 9 * s}, 8: {used: s}, 11: {used: 3 * s, isKernel: true}} // 7 had used 4 in all, and 1 has waited for it
	if had := now.since(before); had != 4*s-3*s+s+s {
		t.Errorf("%v", had)
	}
	for stat, want := range map[string]bool{"I 2 0": true, "S 1 2": false, "S 22 1": false, "S": false} {
		if got := ofKernel(40, strings.Fields(stat)); got != want {
			t.Errorf("%q: %t", stat, got)
		}
	}
	if !ofKernel(kthreadd, []string{"S", "0"}) {
		t.Error("kthreadd is the kernel's")
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
