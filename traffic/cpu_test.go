package traffic

import (
	"runtime"
	"testing"
	"time"
)

// TestClocksAgree burns CPU in one locked thread and finds it in every clock.
func TestClocksAgree(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	user, system := ProcessCPU()
	before, err := CurrentThreadCPU()
	if err != nil {
		t.Fatal(err)
	}
	used := time.Duration(0)
	for used < 60*time.Millisecond {
		now, err := CurrentThreadCPU()
		if err != nil {
			t.Fatal(err)
		}
		used = now - before
	}
	if u, s := ProcessCPU(); u+s-user-system < used/2 {
		t.Errorf("the thread used %s, the process %s", used, u+s-user-system)
	}
	other, err := ThreadCPU(ThreadID())
	if err != nil {
		t.Skip("this system reads no clock of another thread: ", err)
	}
	if other < before+used {
		t.Errorf("from outside the thread's clock says %s, from inside %s", other, before+used)
	}
}

func TestHostIsNeverBusierThanItsTime(t *testing.T) {
	busy, total, err := HostCPU()
	if err != nil {
		t.Skip("this system does not tell: ", err)
	}
	if busy <= 0 || busy > total {
		t.Errorf("busy %s of %s", busy, total)
	}
}

func TestHoldHotPutsEverythingBack(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	var releases []func()
	held := 0
	for _, threads := range []int{1, 2, leastGrant} {
		releases = append(releases, HoldHot(threads))
		held += threads
		if got := runtime.GOMAXPROCS(0); got < max(procs, coldProcs)+held {
			t.Errorf("%d Ps with %d hot threads", got, held)
		}
	}
	for _, release := range releases {
		release()
		release()
	}
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("%d Ps at the end, %d before", got, procs)
	}
}
