//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// TestThePublishedPortSuite: each place of the suite, at a rate of the source's and at a rate that is found; what is another
// system's is not measured, and judged on the published figures.
func TestThePublishedPortSuite(t *testing.T) { measured(t, testThePublishedPortSuite) }

func testThePublishedPortSuite(t *attempt) {
	needsDocker(t)
	before := hostAtRest(t)
	o := windtunnel(t, 2*time.Minute, "run", "container-published-port", "--cells", "tcp-host,tcp-proxy,udp-100M,find-published,hyperkit-*",
		"--budget", "30s", "--window", "250ms", "--json", "--out", t.TempDir()+"/run")
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Sent           result.Figure `json:"sent_bits_per_second"`
			Search         result.Search `json:"search"`
		}
		Hypotheses []struct {
			ID, Verdict string
			Published   string `json:"published_verdict"`
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || len(r.Cells) != 8 {
		t.Fatalf("exit code %d, %v, %d cells\n%s%s", o.code, err, len(r.Cells), o.out, o.err)
	}
	for name, c := range r.Cells {
		switch {
		case strings.HasPrefix(name, "hyperkit"):
			if c.Status != "skipped" || !strings.Contains(c.Reason, "desktop-engine") {
				t.Errorf("%s: %s (%s)", name, c.Status, c.Reason)
			}
		case name == "find-published":
			if c.Search.Ended == result.SearchFailed || len(c.Search.Trials) == 0 {
				t.Errorf("%s: %s (%s), %+v", name, c.Status, c.Reason, c.Search)
			}
		case c.Status != "measured" || !(c.Sent.Mean > 0) || name == "udp-100M" && c.Sent.Mean > 101e6:
			t.Errorf("%s: %s (%s), %+v", name, c.Status, c.Reason, c.Sent)
		}
	}
	judged := map[string]string{}
	for _, h := range r.Hypotheses {
		judged[h.ID] = h.Verdict + ", " + h.Published
	}
	if got := judged["hyperkit-collapse"]; got != "not_measured, supported" {
		t.Errorf("hyperkit-collapse is %q of %v\n%s", got, judged, o.err)
	}
	mustBeAsBefore(t, before)
}
