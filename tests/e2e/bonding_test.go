//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"windtunnel/testbed"
	"windtunnel/testbed/netns"
)

// TestBonds: a team by bonding devices is measured as one by a route is, and takes up what a pulled cable carried. `make bonding`
// runs it in a guest, whose kernel has bonds.
func TestBonds(t *testing.T) { measured(t, testBonds) }

func testBonds(t *attempt) {
	needsRoot(t)
	budget := os.Getenv("BONDING_BUDGET") // of a guest that is known to have them
	before, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if why := netns.Missing(t.Context())[testbed.FeatureBonding]; why != "" {
		if budget != "" {
			t.Fatal(why)
		}
		t.Skipf("not measured here: %s (`make bonding` has a guest that can)", why)
	}
	o := windtunnel(t, 20*time.Minute, "run", "converged-jumbo", "--cells", "team-1500,bond-1500,bond-9000,bond-pulled",
		"--budget", cmp.Or(budget, "20s"), "--json")
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Trials         int
			Rate           figure `json:"received_bits_per_second"`
			Outage         *struct {
				Mean, Low, High *float64
				Reason          string
			} `json:"outage_seconds"`
			Method *struct {
				Trials, Hit int
				Pulled      float64 `json:"pulled_seconds"`
			} `json:"outage_method"`
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("not a report: %v\n%s", err, o.out)
	}
	for name, c := range r.Cells {
		if c.Status != "measured" || c.Trials < 2 {
			t.Errorf("%s: %s (%s), %d trials\n%s", name, c.Status, c.Reason, c.Trials, o.err)
		}
		t.Logf("%s: %.3g Gbit/s in %d trials", name, mean(c.Rate)/1e9, c.Trials)
	}
	switch pulled := r.Cells["bond-pulled"]; {
	case pulled.Method == nil || pulled.Outage == nil:
		t.Errorf("outage: %+v", pulled)
	case pulled.Method.Hit == 0: // once in 2 to the trials
		t.Logf("outage: %s", pulled.Outage.Reason)
	case pulled.Outage.Mean == nil:
		t.Errorf("an outage without a figure: %s", pulled.Outage.Reason)
	default:
		lost, bounds := *pulled.Outage.Mean, "without bounds"
		if pulled.Outage.Low != nil && pulled.Outage.High != nil {
			bounds = fmt.Sprintf("%.1f to %.1f", 1e3**pulled.Outage.Low, 1e3**pulled.Outage.High)
		}
		t.Logf("a pulled member: an outage of %.1f ms (%s) in %d of %d trials, the cable being out for %.0f ms", 1e3*lost, bounds,
			pulled.Method.Hit, pulled.Method.Trials, 1e3*pulled.Method.Pulled)
		if lost <= 0 || lost > 0.8*pulled.Method.Pulled {
			t.Errorf("an outage of %v s of %v s without the cable", lost, pulled.Method.Pulled)
		}
	}
	after, err := net.Interfaces()
	if err != nil || len(after) != len(before) {
		t.Errorf("interfaces before: %v, after: %v (%v)", before, after, err)
	}
}
