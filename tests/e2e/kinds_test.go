//go:build e2e

package e2e

import (
	"encoding/json"
	"testing"
	"time"
)

// kindsReport is what tests look at in cells whose load consists of packets.
type kindsReport struct {
	Cells map[string]struct {
		Status, Reason, Traffic string
		Trials                  int
		Packets                 *struct {
			Sent     figure `json:"sent_per_second"`
			Received figure `json:"received_per_second"`
			Lost     figure `json:"lost_percent"`
			Corrupt  figure `json:"corrupt_percent"`
		}
		Latency *struct {
			Intended map[string]figure `json:"from_intended_seconds"`
			Actual   map[string]figure `json:"from_actual_seconds"`
		}
		Beside  map[string]figure `json:"latency_beside"`
		Methods []string
		Limits  map[string]struct {
			Trials int
			Says   string
		}
		Drops map[string]figure
	}
}

func kindsRun(t testing.TB, suite, cells string) kindsReport {
	t.Helper()
	o := windtunnel(t, time.Minute, "run", suite, "--cells", cells, "--budget", "15s", "--json")
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	var r kindsReport
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("not a report: %v\n%s", err, o.out)
	}
	for name, cell := range r.Cells {
		if cell.Status != "measured" || cell.Trials < 2 {
			t.Errorf("%s: %s (%s), %d trials\n%s", name, cell.Status, cell.Reason, cell.Trials, o.err)
		}
		if len(cell.Limits) == 0 {
			t.Errorf("%s has no verdict on what limited it", name)
		}
	}
	return r
}

func mean(f figure) float64 {
	if f.Mean == nil {
		return -1
	}
	return *f.Mean
}

// TestDatagramsAreAccountedFor floods a bridge and the vRouter: what was sent came
// or was lost, and the losses have names.
func TestDatagramsAreAccountedFor(t *testing.T) { measured(t, testDatagramsAreAccountedFor) }

func testDatagramsAreAccountedFor(t *attempt) {
	needsRoot(t)
	for name, cell := range kindsRun(t, "udp", "auto-bridge,off-vrouter").Cells {
		p := cell.Packets
		if p == nil || mean(p.Received) < 1000 || mean(p.Lost) < 0 || mean(p.Corrupt) != 0 {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		if came := mean(p.Received) / (1 - mean(p.Lost)/100); came < 0.8*mean(p.Sent) || came > 1.2*mean(p.Sent) {
			t.Errorf("%s: %.0f/s were sent, and %.0f/s came or were lost", name, mean(p.Sent), came)
		}
		if mean(p.Received) < 0.02*mean(p.Sent) {
			t.Errorf("%s: the receiver got %.0f of %.0f/s: the path's receive thread starves it", name, mean(p.Received), mean(p.Sent))
		}
		if mean(p.Lost) > 1 && len(cell.Drops) == 0 {
			t.Errorf("%s lost %.1f %%, and nothing names where", name, mean(p.Lost))
		}
	}
}

// TestFramesPassBridgesAndTheVRouter sends them below the sender's stack and counts
// them below the receiver's.
func TestFramesPassBridgesAndTheVRouter(t *testing.T) {
	measured(t, testFramesPassBridgesAndTheVRouter)
}

func testFramesPassBridgesAndTheVRouter(t *attempt) {
	needsRoot(t)
	for name, cell := range kindsRun(t, "packets", "1-bridge,10000-vrouter").Cells {
		if cell.Packets == nil || mean(cell.Packets.Received) < 1000 || len(cell.Methods) == 0 {
			t.Errorf("%s: %+v, %v", name, cell.Packets, cell.Methods)
		}
	}
}

// TestLatencyAloneAndUnderLoad asks a thousand times a second, alone and beside a
// bulk transfer.
func TestLatencyAloneAndUnderLoad(t *testing.T) { measured(t, testLatencyAloneAndUnderLoad) }

func testLatencyAloneAndUnderLoad(t *attempt) {
	needsRoot(t)
	r := kindsRun(t, "latency", "idle-bridge,loaded-bridge")
	idle, loaded := r.Cells["idle-bridge"], r.Cells["loaded-bridge"]
	if idle.Latency == nil || mean(idle.Latency.Intended["p50"]) <= 0 || mean(idle.Latency.Actual["p99"]) <= 0 {
		t.Errorf("alone: %+v", idle.Latency)
	}
	if mean(loaded.Beside["p50"]) <= 0 || mean(loaded.Beside["p99"]) < mean(loaded.Beside["p50"]) {
		t.Errorf("beside a transfer: %+v", loaded.Beside)
	}
}
