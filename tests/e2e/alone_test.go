//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"windtunnel/result"
)

// aloneSuite has one vRouter with the tester at the far end of its fabric, in every way
// that it forwards and by every encapsulation, at a rate that nothing loses a frame at.
const aloneSuite = `
suite: alone
asks: Does all come through one vRouter?
nodes: {a: {}}
traffic: {kind: frame, size: 64B, flows: 100, packets: 5k/s}
cells:
  tc:
    path: {kind: vrouter, far: tester, receive: tc, fast: off}
    pairs:
      - {from: {container: near, on: a}, to: {container: far, on: a}}
      - {from: {container: far, on: a}, to: {container: near, on: a}}
  tc-vxlan: {like: tc, path: {encapsulation: vxlan}}
  xdp-mplsogre: {like: tc, path: {receive: auto, fast: on, encapsulation: mplsogre}}
  xdp-none: {like: xdp-mplsogre, path: {encapsulation: none}}
  poll: {like: tc, path: {receive: auto, fast: auto, mode: poll}}
  poll-vxlan: {like: poll, path: {encapsulation: vxlan}}
`

// TestAVRouterAlone: in both directions each frame that was sent has come whole, or what it was lost to
// has a name.
func TestAVRouterAlone(t *testing.T) { measured(t, testAVRouterAlone) }

func testAVRouterAlone(t *attempt) {
	needsPollMode(t)
	dir := t.TempDir()
	suite, out := filepath.Join(dir, "alone.yaml"), filepath.Join(dir, "run")
	if err := os.WriteFile(suite, []byte(aloneSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	// DPDK's processes begin, and small windows count, as others leave them CPUs: so the run ends once all was seen.
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suite, "--window", "100ms", "--budget", "3m", "--out", out)
	_, errs := untilSeen(t, cmd, 4*time.Minute, func() bool {
		return len(unseen(aloneSuite, trialsOf(t, out), func(result.Trial) bool { return true })) == 0
	})
	if page, err := os.ReadFile(filepath.Join(out, "report.html")); err != nil || !bytes.HasSuffix(page, []byte("</html>\n")) {
		t.Errorf("the run left no page: %v", err)
	}
	measured := map[string]bool{}
	for _, trial := range trialsOf(t, out) {
		if trial.Excluded != "" {
			continue // on a busy machine, of a window or stolen time
		}
		measured[trial.Cell] = true
		lost, named := uint64(0), uint64(0)
		for _, p := range trial.Pairs {
			a := p.Receiver.Arrived
			if a == nil || p.Receiver.Packets == 0 || p.Sender.Error+p.Receiver.Error != "" {
				t.Fatalf("%s, %s to %s: %+v and %+v", trial.Cell, p.From, p.To, p.Sender, p.Receiver)
			}
			if a.Corrupt+a.Duplicate+a.Late != 0 || a.Expected != p.Sender.Packets || p.Receiver.Packets+a.Lost != p.Sender.Packets {
				t.Errorf("%s, %s to %s: sent %d, got %d, %+v", trial.Cell, p.From, p.To, p.Sender.Packets, p.Receiver.Packets, *a)
			}
			if h := p.Receiver.Latencies[result.LatencyActual]; h.Count != p.Receiver.Packets || !(h.P50 > 0) {
				t.Errorf("%s, %s to %s: %d frames of %d told their latency, p50 %g s", trial.Cell, p.From, p.To, h.Count, p.Receiver.Packets, h.P50)
			}
			lost += a.Lost
		}
		for _, s := range trial.Nodes["a"].Switches {
			for _, n := range s.Drops {
				named += n
			}
		}
		for _, l := range trial.Nodes["a"].Links {
			named += l.TxDropped + l.RxDropped
		}
		if lost > named {
			t.Errorf("%s: %d frames are lost, and %d have a name", trial.Cell, lost, named)
		}
	}
	if len(measured) < 6 {
		t.Errorf("measured %v; exit code %d\n%s", measured, cmd.ProcessState.ExitCode(), errs)
	}
}

// trialsOf are those of a run, up to now if it goes on.
func trialsOf(t testing.TB, dir string) (trials []result.Trial) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "run.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a run that goes on may have half a line there
	for record := range bytes.Lines(text) {
		var line struct{ Record string }
		var trial result.Trial
		if err := json.Unmarshal(record, &line); err != nil {
			t.Fatal(err)
		}
		if line.Record != result.RecordTrial {
			continue
		}
		if err := json.Unmarshal(record, &trial); err != nil {
			t.Fatal(err)
		}
		trials = append(trials, trial)
	}
	return trials
}
