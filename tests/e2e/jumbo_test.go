//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestConvergedJumbo measures a queue by destination, storage's requests, and a team of links of which one is pulled.
func TestConvergedJumbo(t *testing.T) { measured(t, testConvergedJumbo) }

func testConvergedJumbo(t *attempt) {
	needsRoot(t)
	o := windtunnel(t, time.Minute, "run", "converged-jumbo", "--cells", "1500-vmq-none-half,requests-4K-1500,team-pulled", "--budget", "20s", "--json")
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Trials         int
			Queueing       *struct{ VMQ bool }
			Received       []struct {
				Node    string
				ByQueue []float64 `json:"by_queue"`
			}
			Rate    figure `json:"received_bits_per_second"`
			Latency *struct {
				Transactions figure `json:"transactions_per_second"`
			}
			Outage *figure `json:"outage_seconds"`
			Method *struct {
				Trials, Hit int
				Resolution  float64 `json:"resolution_seconds"`
				Pulled      float64 `json:"pulled_seconds"`
			} `json:"outage_method"`
		}
		Hypotheses []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("not a report: %v\n%s", err, o.out)
	}
	for name, c := range r.Cells {
		if c.Status != "measured" || c.Trials < 2 {
			t.Errorf("%s: %s (%s), %d trials\n%s", name, c.Status, c.Reason, c.Trials, o.err)
		}
	}
	vmq := r.Cells["1500-vmq-none-half"]
	if len(vmq.Received) != 2 || vmq.Queueing == nil || !vmq.Queueing.VMQ {
		t.Errorf("queues: %+v", vmq)
	}
	for _, q := range vmq.Received {
		if len(q.ByQueue) != 2 || q.ByQueue[1] < 0.9 {
			t.Errorf("node %s received by queue %v: the adapter has the second", q.Node, q.ByQueue)
		}
	}
	// Payload is 4 KiB of each request, whichever way it goes.
	requests := r.Cells["requests-4K-1500"]
	if share := mean(requests.Rate) / (mean(requests.Latency.Transactions) * 4096 * 8); share < 0.9 || share > 1.1 {
		t.Errorf("%v requests a second, %v bit/s", mean(requests.Latency.Transactions), mean(requests.Rate))
	}
	team := r.Cells["team-pulled"]
	switch {
	case team.Method == nil || team.Method.Trials != team.Trials || team.Outage == nil:
		t.Errorf("outage: %+v", team)
	case team.Method.Hit == 0: // once in 2 to the trials, and where others take the CPU from datagrams
		if !strings.Contains(team.Outage.Reason, "not pulled") && !strings.Contains(team.Outage.Reason, "the cable was in, too") {
			t.Errorf("outage: %+v", team.Outage)
		}
	case mean(*team.Outage) <= 0 || mean(*team.Outage) > 1.2*team.Method.Pulled+0.1 || team.Method.Resolution > 0.001:
		t.Errorf("an outage of %v s, %+v", mean(*team.Outage), team.Method)
	}
}
