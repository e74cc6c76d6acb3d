//go:build e2e

package e2e

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// moments is how often each kind of process is killed, each time at another
// moment of a run.
const moments = 10

// victims are the processes of a run, by words of their command lines.
var victims = map[string][]string{
	"conductor": {"run", "contrail-windows"},
	"worker":    {"agent", "--worker"},
	"agent":     {"agent", "--node"},
	"vrouter":   {"vrouter", "run"},
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

func TestNothingIsLeftAfterCtrlC(t *testing.T) {
	needsRoot(t)
	for range 3 {
		code := killOnce(t, victims["conductor"], syscall.SIGINT)
		if code != 130 {
			t.Errorf("exit code %d after Ctrl-C, want 130", code)
		}
	}
}

// killOnce starts a run, sends the signal to one of the victims some time later
// and waits until the run is over. It returns the run's exit code.
func killOnce(t *testing.T, words []string, signal syscall.Signal) int {
	t.Helper()
	before := lookAtHost(t)
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", "contrail-windows",
		"--cells", "B,D", "--budget", "8s", "--out", filepath.Join(t.TempDir(), "run"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	wait := time.Duration(rand.Int64N(int64(5 * time.Second)))
	hit := hitAfter(words, signal, wait, ended)
	select {
	case <-ended:
	case <-time.After(40 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatalf("the run did not end after a signal at %s\n%s", wait, said.String())
	}
	waitForNone(t)
	if out, err := exec.Command(filepath.Join(bin, "windtunnel"), "clean").CombinedOutput(); err != nil {
		t.Errorf("clean: %v\n%s", err, out)
	}
	mustBeAsBefore(t, before)
	t.Logf("hit %v at %s, exit code %d", hit, wait.Round(time.Millisecond), cmd.ProcessState.ExitCode())
	return cmd.ProcessState.ExitCode()
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
func waitForNone(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for len(processes()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", processes())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
