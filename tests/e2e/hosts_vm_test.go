//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
func TestVirtualMachinesBetweenHosts(t *testing.T) { measured(t, testVirtualMachinesBetweenHosts) }

func testVirtualMachinesBetweenHosts(t *attempt) {
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
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", suite, "--nodes", bothHosts, "--window", "250ms", "--budget", "5m", "--out", out)
	said, errs := untilSeen(t, cmd, 7*time.Minute, func() bool {
		trials := trialsOf(t, out)
		return counts(trials, "bridge") && counts(trials, "vrouter")
	})
	for _, cell := range []string{"bridge", "vrouter"} {
		if !counts(trialsOf(t, out), cell) {
			t.Errorf("%s was not measured; exit code %d\n%s\n%s", cell, cmd.ProcessState.ExitCode(), said, errs)
		}
	}
	mustBeMachines(t, trialsOf(t, out))
	if !strings.Contains(said, "Virtual machines") {
		t.Errorf("the report says nothing of them:\n%s", said)
	}
	b.mustBeAsBefore(t, before)
}

// counts tells whether a cell has a trial that counts, in which both guests have counted.
func counts(trials []result.Trial, cell string) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool {
		return t.Cell == cell && t.Excluded == "" && countedInside(t, "one", "two")
	})
}
