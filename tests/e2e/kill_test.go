//go:build e2e

package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// budget is of a run in which something is killed, window of its trials, and grace how
// much later than the budget any run must have ended. Short windows leave time for two
// blocks of two cells, as at the planner's window in 8 s: a run has the same phases, and
// the moments lie closer in each.
const (
	budget = 5 * time.Second
	window = 250 * time.Millisecond
	grace  = 15 * time.Second
)

// within is the part of a run in which something is killed: a run may end a trial and its
// report's time before its budget does.
const within = budget / 2

// moments is how often each kind of process is killed, each time at another
// moment of a run.
const moments = 10

// victims are the processes of a run, by words of their command lines, which no
// folder of a test has in its name.
var victims = map[string][]string{
	"conductor": {"bin/windtunnel run contrail-windows"},
	"worker":    {"bin/windtunnel agent --worker"},
	"agent":     {"bin/windtunnel agent --node"},
	"vrouter":   {"bin/vrouter run "},
}

// TestNothingIsLeftAfterKills kills each kind of process at random moments of a
// run, from the building of testbeds to their end.
func TestNothingIsLeftAfterKills(t *testing.T) {
	needsRoot(t)
	for name, words := range victims {
		t.Run(name, func(t *testing.T) {
			for range moments {
				killOnce(t, words, syscall.SIGKILL)
			}
		})
	}
}

// TestNothingIsLeftAfterCtrlC, nor after a kill, nor when the terminal closes.
func TestNothingIsLeftAfterCtrlC(t *testing.T) {
	needsRoot(t)
	// Caught here, a hangup has its default effect in what is started, also where
	// these tests run under nohup, which a run respects.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for range 3 {
			if code := killOnce(t, victims["conductor"], signal); code != 130 {
				t.Errorf("exit code %d after %s, want 130", code, signal)
			}
		}
	}
}

// TestARunEndsThoughSomethingHangs stops processes, which then neither work nor
// end: the run ends in time and nothing is left.
func TestARunEndsThoughSomethingHangs(t *testing.T) {
	needsRoot(t)
	for _, name := range []string{"worker", "agent", "vrouter"} {
		t.Run(name, func(t *testing.T) { killOnce(t, victims[name], syscall.SIGSTOP) })
	}
}

// TestAgentsOutliveNoStoppedConductor: a Ctrl-Z must not hold the testbed.
func TestAgentsOutliveNoStoppedConductor(t *testing.T) {
	needsRoot(t)
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", "wire-aa", "--budget", "20s", "--out", filepath.Join(t.TempDir(), "run"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); waitForNone(t); clean(t) }()
	hitAfter(victims["worker"], 0, time.Second, nil)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(15 * time.Second)
	for len(find("agent")) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", processes())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// killOnce starts a run, sends the signal to one of the victims some time later
// and waits until the run is over. It returns the run's exit code.
func killOnce(t testing.TB, words []string, signal syscall.Signal) int {
	t.Helper()
	before := hostAtRest(t)
	var said bytes.Buffer
	out := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", "contrail-windows",
		"--cells", "B,D", "--budget", budget.String(), "--window", window.String(), "--out", out)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	wait := time.Duration(rand.Int64N(int64(within)))
	if signal != syscall.SIGKILL && signal != syscall.SIGSTOP {
		awaitFolder(t, out, ended)
	}
	hit := hitAfter(words, signal, wait, ended)
	select {
	case <-ended:
	case <-time.After(budget + grace):
		_ = cmd.Process.Kill()
		waitForNone(t)
		clean(t)
		t.Fatalf("the run did not end after a signal at %s\n%s", wait, said.String())
	}
	waitForNone(t)
	clean(t)
	mustBeAsBefore(t, before)
	t.Logf("hit %v at %s, exit code %d", hit, wait.Round(time.Millisecond), cmd.ProcessState.ExitCode())
	return cmd.ProcessState.ExitCode()
}

// awaitFolder waits for a run's, which it makes when it has seen to the signals that it is to catch: they end one that has not
// got so far, as they end any program.
func awaitFolder(t testing.TB, out string, ended <-chan struct{}) {
	t.Helper()
	for {
		if _, err := os.Stat(out); err == nil {
			return
		}
		select {
		case <-ended:
			t.Fatal("the run ended before it had a folder")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func clean(t testing.TB) {
	t.Helper()
	t = strictly(t)
	if out, err := exec.Command(filepath.Join(bin, "windtunnel"), "clean").CombinedOutput(); err != nil {
		t.Errorf("clean: %v\n%s", err, out)
	}
}

// hitAfter signals one victim once it is there and the time has come.
func hitAfter(words []string, signal syscall.Signal, wait time.Duration, ended <-chan struct{}) bool {
	due := time.After(wait)
	<-due
	for {
		if pids := find(words...); len(pids) > 0 {
			victim, err := os.FindProcess(pids[rand.IntN(len(pids))])
			return err == nil && victim.Signal(signal) == nil
		}
		select {
		case <-ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// waitForNone waits until the agents of a killed conductor have gone by
// themselves.
func waitForNone(t testing.TB) {
	t.Helper()
	t = strictly(t)
	deadline := time.Now().Add(15 * time.Second)
	for len(processes()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", processes())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
