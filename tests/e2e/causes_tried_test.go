//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPlantedCausesGiveBackTheGap tries what TestPlantedCauses finds by evidence: each cause, taken away, gives its gap
// back, and is named first. `make soak` has the minutes that this takes; TestThePlantedCauseIsNamedFirst tries one always.
func TestPlantedCausesGiveBackTheGap(t *testing.T) {
	needsRoot(t)
	if os.Getenv("CAUSES_SOAK") == "" {
		t.Skip("it takes four minutes: `make soak` sets CAUSES_SOAK")
	}
	suite := suiteFile(t, plantedSuite)
	tried := 0
	for _, c := range []struct{ ratio, factor string }{
		{"mtu/base", "mtu"}, {"gro/base", "gro"}, {"steer/lso", "steering"}, {"buffer/base", "receive-buffer"},
		{"loss/base", "loss"}, {"lso/base", "tso"}, {"slow/base", "rate"},
	} {
		o := windtunnel(t, 3*time.Minute, "explain", suite, c.ratio, "--factors", c.factor, "--budget", "30s", "--window", "500ms", "--precision", "1%", "--json")
		var r explained
		if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 || r.Recovered == nil {
			t.Fatalf("%s: exit code %d, %v\n%s%s", c.ratio, o.code, err, o.out, o.err)
		}
		if len(r.Recovered.Factors) != 1 || r.Recovered.Factors[0].Factor != c.factor {
			t.Errorf("%s: want %s, got %+v\n%s", c.ratio, c.factor, r.Recovered, o.err)
			continue
		}
		share := r.Recovered.Factors[0].Share
		if share.Mean == nil {
			t.Logf("%s is not judged: %s", c.ratio, strings.TrimSpace(share.Reason)) // on this machine, now, there is no gap
			continue
		}
		tried++
		if *share.Mean < 0.5 || *share.Mean > 1.5 {
			t.Errorf("%s: %s recovers %g of the gap\n%s", c.ratio, c.factor, *share.Mean, o.err)
		}
	}
	if tried < 5 {
		t.Errorf("of seven planted causes %d have a gap to give back", tried)
	}
}
