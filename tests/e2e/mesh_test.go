//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestAMeshOfThreeNodes: every pair of three nodes on two CPUs at once, and two senders into one; all report forms have the matrix.
func TestAMeshOfThreeNodes(t *testing.T) {
	needsRoot(t)
	before := hostAtRest(t)
	dir := t.TempDir() + "/run"
	o := windtunnel(t, time.Minute, "run", "mesh", "--budget", "25s", "--window", "250ms", "--out", dir, "--json")
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Matrix         *struct {
				From, To []string
				Received [][]*figure `json:"received_bits_per_second"`
				Latency  [][]*figure `json:"latency_p50_seconds"`
			}
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
	}
	for name, pairs := range map[string]int{"alone": 0, "every": 6, "into-one": 2, "requests": 6, "bridged": 6} {
		cell, known := r.Cells[name], 0
		if cell.Status != "measured" {
			t.Errorf("%s: %s (%s)", name, cell.Status, cell.Reason)
			continue
		}
		if (cell.Matrix != nil) != (pairs > 0) || (cell.Matrix != nil && len(cell.Matrix.Latency) > 0) != (name == "requests") {
			t.Errorf("%s: the matrix is %+v", name, cell.Matrix)
		}
		if cell.Matrix == nil {
			continue
		}
		for i, row := range cell.Matrix.Received {
			for k, f := range row {
				if f != nil && f.Mean != nil && *f.Mean > 0 && cell.Matrix.From[i] != cell.Matrix.To[k] {
					known++
				}
			}
		}
		if known != pairs {
			t.Errorf("%s: %d of %d pairs have a figure", name, known, pairs)
		}
	}
	for format, words := range map[string]string{"text": "Each pair of every: received", "md": "Each pair of every: received", "csv": "pair,every,received_bits_per_second,a,b,"} {
		if o := windtunnel(t, time.Minute, "report", dir, "--format", format); o.code != 0 || !strings.Contains(o.out, words) {
			t.Errorf("%s: exit code %d\n%s%s", format, o.code, o.out, o.err)
		}
	}
	mustBeAsBefore(t, before)
}
