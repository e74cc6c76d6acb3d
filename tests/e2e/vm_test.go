//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/result"
)

// vmSuite has two virtual machines on one node each, behind what the paths make of it.
const vmSuite = `
suite: virtual-machines
asks: Does traffic pass between virtual machines?
nodes: {a: {}, b: {cpus: shared}}
traffic: {kind: stream, message: 16KiB}
cells:
  bridge:
    path: bridge
    pairs: [{from: {vm: one, on: a}, to: {vm: two, on: b}}]
  vrouter: {like: bridge, path: vrouter, vm: {cpus: 2, queues: 2}}
  poll: {like: bridge, path: {kind: vrouter, mode: poll}}
  nfv:
    path: vrouter
    traffic: {kind: frame, size: 64B, packets: 500/s}
    pairs: [{from: {vm: one, on: a}, to: {vm: two, nic: 1, on: b}}, {from: {vm: two, on: b}, to: {vm: one, nic: 1, on: a}}]
  nat: {path: {kind: vm-published-port, network: qemu}, pairs: [{from: b, to: {vm: one, on: a}}]}
`

// needsVMs skips where there is no QEMU or no kernel for guests, and returns a suite's file.
func needsVMs(t testing.TB, text string) string {
	t.Helper()
	needsRoot(t)
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("skip: needs QEMU (Debian's qemu-system-x86)")
	}
	const cannotBeHad = 3
	out, err := exec.Command("bash", "../../scripts/guest-kernel.sh", filepath.Join(bin, "guest")).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannotBeHad {
		t.Skipf("skip: needs a package of the kernel: %s", out)
	}
	if err != nil {
		t.Fatalf("unpacking a kernel for guests: %v\n%s", err, out)
	}
	suite := filepath.Join(t.TempDir(), "vm.yaml")
	if err := os.WriteFile(suite, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return suite
}

// TestVirtualMachines: traffic passes between two guests, and each tells what it and its host saw. Guests boot one cell after the
// other, which takes them as long as others leave them CPUs: so it is no budget that ends the run, but Ctrl-C once each cell was seen.
func TestVirtualMachines(t *testing.T) { measured(t, testVirtualMachines) }

func testVirtualMachines(t *attempt) {
	needsPollMode(t)
	suite, out := needsVMs(t, vmSuite), filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suite, "--window", "250ms", "--budget", "5m", "--out", out)
	said, errs := untilSeen(t, cmd, 6*time.Minute, func() bool { return len(unseenMachines(trialsOf(t, out))) == 0 })
	mustBeMachines(t, trialsOf(t, out))
	if missed := unseenMachines(trialsOf(t, out)); len(missed) > 0 {
		t.Fatalf("not measured: %v; exit code %d\n%s\n%s", missed, cmd.ProcessState.ExitCode(), said, errs)
	}
	mustSayMachines(t, said)
}

// machinesOf are the places of a cell's machines.
func machinesOf(cell string) []string {
	if cell == "nat" {
		return []string{"one"}
	}
	return []string{"one", "two"}
}

// unseenMachines are the cells without a trial that counts and in which the guests' own interfaces have counted: on a busy machine a
// guest may have slept through a window.
func unseenMachines(trials []result.Trial) []string {
	return unseen(vmSuite, trials, func(t result.Trial) bool { return countedInside(t, machinesOf(t.Cell)...) })
}

// unseen are a suite's cells without a trial that counts and in which something was seen.
func unseen(suite string, trials []result.Trial, seen func(result.Trial) bool) []string {
	return slices.DeleteFunc(strings.Fields(wantedCells(suite)), func(cell string) bool {
		return slices.ContainsFunc(trials, func(t result.Trial) bool { return t.Cell == cell && t.Excluded == "" && seen(t) })
	})
}

// mustBeMachines looks at what each trial that counts says of its machines.
func mustBeMachines(t testing.TB, trials []result.Trial) {
	t.Helper()
	for _, trial := range trials {
		if trial.Excluded != "" {
			continue
		}
		vms := slices.Concat(trial.Nodes["a"].VMs, trial.Nodes["b"].VMs)
		if len(vms) != len(machinesOf(trial.Cell)) {
			t.Fatalf("%s: %d virtual machines were measured", trial.Cell, len(vms))
		}
		for _, vm := range vms {
			busy, told := vm.GuestBusy()
			if vm.Error != "" || !told || !(busy > 0 && busy <= 1.05) || !(vm.VCPUSeconds > 0) || vm.Accelerator == "" {
				t.Errorf("%s: %+v, busy %g", trial.Cell, vm, busy)
			}
		}
	}
}

func mustSayMachines(t testing.TB, report string) {
	t.Helper()
	if !strings.Contains(report, "Virtual machines") {
		t.Errorf("the report says nothing of virtual machines:\n%s", report)
	}
	hardware, _ := filepath.Glob("/sys/module/kvm_[ai]*")
	if len(hardware) == 0 && !strings.Contains(report, "emulated") {
		t.Errorf("the report does not say that they are emulated:\n%s", report)
	}
}

// wantedCells are those of a suite, by their indentation.
func wantedCells(suite string) string {
	var names []string
	_, cells, _ := strings.Cut(suite, "\ncells:\n")
	for line := range strings.Lines(cells) {
		if name, _, is := strings.Cut(strings.TrimPrefix(line, "  "), ":"); is && !strings.HasPrefix(name, " ") {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func countedInside(trial result.Trial, places ...string) bool {
	counted := map[string]bool{}
	for _, node := range trial.Nodes {
		for _, link := range node.Links {
			for _, place := range places {
				if link.Place == place && link.RxPackets+link.TxPackets > 0 {
					counted[place] = true
				}
			}
		}
	}
	return len(counted) == len(places)
}

// TestVirtualMachinesAreKilled: QEMU that dies in the middle of a run is told of, and nothing is left behind a conductor
// that is killed.
func TestVirtualMachinesAreKilled(t *testing.T) {
	for name, words := range map[string][]string{"QEMU": {"qemu-system-", "-name one"}, "conductor": {"bin/windtunnel run "}} {
		t.Run(name, func(t *testing.T) {
			suite := needsVMs(t, vmSuite)
			before := hostAtRest(t)
			var said bytes.Buffer
			cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suite, "--cells", "bridge", "--window", "250ms", "--budget", "8s", "--out", filepath.Join(t.TempDir(), "run"))
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			awaitQEMU(t, ended)
			hit := hitAfter(words, syscall.SIGKILL, 2*time.Second, ended)
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				_ = cmd.Process.Kill()
				t.Errorf("the run did not end\n%s", said.String())
			}
			waitForNone(t)
			clean(t)
			mustBeAsBefore(t, before)
			if left := find("qemu-system-", "-name one"); len(left) > 0 {
				t.Errorf("QEMU is left: %v", left)
			}
			if name == "QEMU" && hit && !strings.Contains(said.String(), "virtual machine one") {
				t.Errorf("nothing says which machine has ended:\n%s", said.String())
			}
		})
	}
}

func awaitQEMU(t testing.TB, ended chan struct{}) {
	t.Helper()
	deadline := time.After(time.Minute)
	for len(find("qemu-system-", "-name one")) == 0 {
		select {
		case <-ended:
			t.Fatal("the run ended before a machine was started")
		case <-deadline:
			t.Fatal("no machine was started")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
