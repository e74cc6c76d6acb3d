//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
func TestForeignGenerator(t *testing.T) {
	needsPollMode(t)
	for generator, c := range map[string]struct{ program, says, budget, needs string }{
		"testpmd": {"dpdk-testpmd", "--forward-mode=txonly", "6s", "dpdk-testpmd (Debian's dpdk-dev)"},
		"pktgen":  {"pktgen", "speed=200000", "20s", "pktgen (Pktgen-DPDK, which Debian does not have)"},
		"trex":    {"_t-rex-64", "--stl", "20s", "_t-rex-64 (TRex, which Debian does not have)"},
	} {
		t.Run(generator, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip("skip: needs " + c.needs)
			}
			foreignGenerator(t, generator, c.says, c.budget)
		})
	}
}

func foreignGenerator(t *testing.T, generator, says, budget string) {
	t.Helper()
	dir := t.TempDir()
	suite, out := filepath.Join(dir, "generator.yaml"), filepath.Join(dir, "run")
	if err := os.WriteFile(suite, fmt.Appendf(nil, generatorSuite, generator), 0o600); err != nil {
		t.Fatal(err)
	}
	o := windtunnel(t, time.Minute, "run", suite, "--window", "300ms", "--budget", budget, "--out", out)
	if o.code != 0 && o.code != 4 { // too few trials for a figure
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	measured := 0
	for _, trial := range trialsOf(t, out) {
		if trial.Excluded != "" || trial.Pairs[0].Sender.Error+trial.Pairs[0].Receiver.Error != "" {
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
		t.Errorf("no trial counts\n%s", o.err)
	}
	if left, _ := exec.Command("pgrep", "-f", dir).Output(); len(left) > 0 {
		t.Errorf("processes were left: %s", left)
	}
}
