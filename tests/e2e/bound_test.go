//go:build e2e

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// startBound starts a program that the kernel kills when the test's process dies, and waits for it. The kernel goes by
// the thread that forked it (prctl(2), PR_SET_PDEATHSIG), and Go ends a thread with the goroutine that locked it: so
// this one is kept from others for as long as the program lives. ended is closed with it.
func startBound(t testing.TB, cmd *exec.Cmd) (ended <-chan struct{}) {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in ProcessState
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return done
}

// TestBoundOutlivesOtherThreads: a thread that ends with a namespace of another test takes no program along.
func TestBoundOutlivesOtherThreads(t *testing.T) {
	besideOthers(t)
	cmd := exec.Command("sleep", "60")
	ended := startBound(t, cmd)
	for range 4 * runtime.GOMAXPROCS(0) { // as many as Go may reuse a thread for
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			runtime.LockOSThread() // never unlocked
		}()
		<-gone
	}
	select {
	case <-ended:
		t.Error("the program ended with a thread that is none of its own")
	case <-time.After(50 * time.Millisecond): // a signal takes microseconds
	}
	_ = cmd.Process.Kill()
	<-ended
}

// untilMeasured runs the program until each of the cells has two trials that count, which takes as long as others leave it CPUs, and ends
// it by Ctrl-C: its report is of what there is. Its budget only bounds that; windows are to be named, or they would go by it.
func untilMeasured(t testing.TB, cells []string, args ...string) outcome {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), append(args, "--budget", "3m", "--out", dir)...)
	said, errs := untilSeen(t, cmd, 4*time.Minute, func() bool {
		count := countTrials(t, dir)
		return !slices.ContainsFunc(cells, func(cell string) bool { return count[cell] < 2 })
	})
	return outcome{code: cmd.ProcessState.ExitCode(), out: said, err: errs}
}

// countTrials says how many trials of each cell of a run count up to now.
func countTrials(t testing.TB, dir string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, trial := range trialsOf(t, dir) {
		if trial.Excluded == "" {
			count[trial.Cell]++
		}
	}
	return count
}

// untilSeen lets a command run until what it is for was seen, then gives it Ctrl-C, and returns what it said once it has ended.
func untilSeen(t testing.TB, cmd *exec.Cmd, limit time.Duration, seen func() bool) (said, errs string) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	ended := startBound(t, cmd)
	late, pause := time.After(limit), time.NewTicker(200*time.Millisecond)
	defer pause.Stop()
	for {
		select {
		case <-ended:
			return out.String(), err.String()
		case <-late:
			_ = cmd.Process.Kill()
			<-ended
			t.Fatalf("it does not end\n%s", err.String())
		case <-pause.C:
			if seen() {
				pause.Stop()
				_ = cmd.Process.Signal(syscall.SIGINT)
			}
		}
	}
}
