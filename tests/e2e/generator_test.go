//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// generatorSuite has testpmd send through a vRouter that is measured alone.
const generatorSuite = `
suite: generator
asks: Does what another program sends come through?
nodes: {a: {}}
traffic: {kind: frame, size: 64B, generator: testpmd}
wire: {kind: nic, mtu: 1600}
cells:
  vxlan:
    path: {kind: vrouter, far: tester, mode: poll, encapsulation: vxlan}
    pairs: [{from: {container: near, on: a}, to: {container: far, on: a}}]
`

// TestForeignGenerator: a program of others sends, our sink counts it behind the tunnel, and the result says what ran.
func TestForeignGenerator(t *testing.T) {
	needsPollMode(t)
	if _, err := exec.LookPath("dpdk-testpmd"); err != nil {
		t.Skip("skip: needs dpdk-testpmd (Debian's dpdk-dev)")
	}
	dir := t.TempDir()
	suite, out := filepath.Join(dir, "generator.yaml"), filepath.Join(dir, "run")
	if err := os.WriteFile(suite, []byte(generatorSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	o := windtunnel(t, time.Minute, "run", suite, "--window", "300ms", "--budget", "6s", "--out", out)
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
		if g == nil || g.Name != "testpmd" || !strings.Contains(g.Command, "--forward-mode=txonly") || a == nil || p.Receiver.Packets == 0 || p.Limit == nil || p.Limit.Verdict == "" {
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
