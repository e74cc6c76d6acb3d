//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// generatorSuite has a program of others send through a vRouter that is measured alone.
const generatorSuite = `
suite: generator
asks: Does what another program sends come through?
nodes: {a: {}}
traffic: {kind: frame, size: 64B, generator: %s}
wire: {kind: nic, mtu: 1600}
cells:
  vxlan:
    path: {kind: vrouter, far: tester, mode: poll, encapsulation: vxlan}
    pairs: [{from: {container: near, on: a}, to: {container: far, on: a}}]
`

// TestForeignGenerator: a program of others sends, our sink counts it behind the tunnel, and the result says what ran.
func TestForeignGenerator(t *testing.T) { measured(t, testForeignGenerator) }

func testForeignGenerator(t *attempt) {
	needsPollMode(t)
	for generator, c := range map[string]struct{ program, says, needs string }{
		"testpmd": {"dpdk-testpmd", "--forward-mode=txonly", "dpdk-testpmd (Debian's dpdk-dev)"},
		"pktgen":  {"pktgen", "speed=200000", "pktgen (Pktgen-DPDK, which Debian does not have)"},
		"trex":    {"_t-rex-64", "--stl", "_t-rex-64 (TRex, which Debian does not have)"},
	} {
		t.Run(generator, func(t *attempt) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip("skip: needs " + c.needs)
			}
			foreignGenerator(t, generator, c.says)
		})
	}
}

func foreignGenerator(t testing.TB, generator, says string) {
	t.Helper()
	dir := t.TempDir()
	suite, out := filepath.Join(dir, "generator.yaml"), filepath.Join(dir, "run")
	if err := os.WriteFile(suite, fmt.Appendf(nil, generatorSuite, generator), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := func(trial result.Trial) bool {
		return trial.Excluded == "" && trial.Pairs[0].Sender.Error+trial.Pairs[0].Receiver.Error == ""
	}
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suite, "--window", "300ms", "--budget", "2m", "--out", out)
	_, errs := untilSeen(t, cmd, 3*time.Minute, func() bool { return slices.ContainsFunc(trialsOf(t, out), whole) })
	measured := 0
	for _, trial := range trialsOf(t, out) {
		if !whole(trial) {
			t.Log(trial.Excluded, trial.Pairs) // on a busy machine, of a window, stolen time, or no CPU for the generator
			continue
		}
		measured++
		p := trial.Pairs[0]
		g, a := p.Sender.Generator, p.Receiver.Arrived
		if g == nil || g.Name != generator || !strings.Contains(g.Command, says) || a == nil || p.Receiver.Packets == 0 || p.Limit == nil || p.Limit.Verdict == "" {
			t.Fatalf("%+v, sent %+v, got %+v", g, p.Sender, p.Receiver)
		}
		if a.Corrupt != 0 || a.Expected < p.Sender.Packets || a.Lost > a.Expected {
			t.Errorf("arrived %+v, of %d in the window", *a, p.Sender.Packets)
		}
	}
	if measured == 0 {
		t.Errorf("no trial counts; exit code %d\n%s", cmd.ProcessState.ExitCode(), errs)
	}
	if left, _ := exec.Command("pgrep", "-f", dir).Output(); len(left) > 0 {
		t.Errorf("processes were left: %s", left)
	}
}
