//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/result"
)

// hostsVMSuite has a machine on each host. They boot for each trial, since one cell stands at a time.
const hostsVMSuite = `
suite: machines-on-hosts
asks: Does traffic pass between virtual machines on two hosts?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 16KiB}
cells:
  bridge:
    path: bridge
    pairs: [{from: {vm: one, on: a}, to: {vm: two, on: b}}]
  vrouter: {like: bridge, path: vrouter}
`

// TestVirtualMachinesBetweenHosts boot by the kernel that is brought, where the hosts have none of their own, and nothing of it stays.
func TestVirtualMachinesBetweenHosts(t *testing.T) {
	if os.Getenv("HOSTS_SOAK") == "" {
		t.Skip("not measured here: it takes more than a minute, and is a part of `make soak` (HOSTS_SOAK=1)")
	}
	suite, out := needsVMs(t, hostsVMSuite), filepath.Join(t.TempDir(), "run")
	besideOthers(t)
	b := newHosts(t)
	for host := range b.hosts {
		b.on(t, host, "[ ! -d /boot ] || mount -t tmpfs tmpfs /boot")
	}
	before := b.states(t)
	var said, errs bytes.Buffer
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", suite, "--nodes", bothHosts, "--window", "250ms", "--budget", "5m", "--out", out)
	cmd.Stdout, cmd.Stderr = &said, &errs
	ended := startBound(t, cmd)
	late, pause := time.After(7*time.Minute), time.NewTicker(200*time.Millisecond)
	defer pause.Stop()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-late:
			_ = cmd.Process.Kill()
			t.Fatalf("it does not end\n%s", errs.String())
		case <-pause.C:
			if counts(trialsOf(t, out), "bridge") && counts(trialsOf(t, out), "vrouter") {
				pause.Stop()
				_ = cmd.Process.Signal(syscall.SIGINT)
			}
		}
	}
	for _, cell := range []string{"bridge", "vrouter"} {
		if !counts(trialsOf(t, out), cell) {
			t.Errorf("%s was not measured; exit code %d\n%s\n%s", cell, cmd.ProcessState.ExitCode(), said.String(), errs.String())
		}
	}
	mustBeMachines(t, trialsOf(t, out))
	if !strings.Contains(said.String(), "Virtual machines") {
		t.Errorf("the report says nothing of them:\n%s", said.String())
	}
	b.mustBeAsBefore(t, before)
}

// counts tells whether a cell has a trial that counts, in which both guests have counted.
func counts(trials []result.Trial, cell string) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool {
		return t.Cell == cell && t.Excluded == "" && countedInside(t, "one", "two")
	})
}
