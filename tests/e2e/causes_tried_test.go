//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// quotaSuite has a sender with a tenth of a CPU, which a container engine sees to.
const quotaSuite = `
suite: planted
asks: Is a quota of CPU time found?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 128KiB}
cells:
  base: {path: host-network, pairs: [{from: {container: s, on: a}, to: b}]}
  quota: {like: base, path: {cpus: 0.1}}
`

// TestPlantedCausesGiveBackTheGap tries what TestPlantedCauses finds by evidence: each cause, taken away, gives its gap
// back, and is named before what was tried beside it. `make soak` has the minutes that this takes; TestThePlantedCauseIsNamedFirst
// tries one always.
func TestPlantedCausesGiveBackTheGap(t *testing.T) { measured(t, testPlantedCausesGiveBackTheGap) }

func testPlantedCausesGiveBackTheGap(t *attempt) {
	needsRoot(t)
	if os.Getenv("CAUSES_SOAK") == "" {
		t.Skip("it takes six minutes: `make soak` sets CAUSES_SOAK")
	}
	whole := strings.Replace(plantedSuite, "steer: {like: lso", "steer: {like: base", 1) // with whole segments it costs a third of the rate
	asked, tried := 0, 0
	for _, c := range []struct{ name, suite, ratio, factor string }{
		{"mtu", plantedSuite, "mtu/base", "mtu"}, {"gro", plantedSuite, "gro/base", "gro"}, {"steer", strings.ReplaceAll(whole, "steer/lso", "steer/base"), "steer/base", "steering"},
		{"buffer", plantedSuite, "buffer/base", "receive-buffer"}, {"loss", plantedSuite, "loss/base", "loss"}, {"lso", plantedSuite, "lso/base", "tso"},
		{"slow", plantedSuite, "slow/base", "rate"}, {"quota", quotaSuite, "quota/base", "quota"},
	} {
		t.Run(c.name, func(t *attempt) {
			if c.suite == quotaSuite {
				needsDocker(t)
			}
			asked++
			all, says := triedFactors(t, c.suite, c.ratio, c.factor)
			share := all[slices.IndexFunc(all, func(f triedFactor) bool { return f.Factor == c.factor })].Share
			switch {
			case share.Mean == nil || share.Low == nil || share.High == nil:
				t.Logf("%s is not judged: %s", c.ratio, strings.TrimSpace(share.Reason)) // on this machine, now, there is no gap
			case *share.Low <= 0 && *share.High >= 1:
				t.Logf("%s is not judged: %g to %g is too little to know", c.ratio, *share.Low, *share.High) // others have the machine
			case all[0].Factor != c.factor:
				t.Errorf("want %s first, got %+v\n%s", c.factor, all[0], says)
			case *share.High < 0.7 || *share.Low > 1.3:
				t.Errorf("%s recovers %g [%g, %g] of the gap %s\n%s", c.factor, *share.Mean, *share.Low, *share.High, c.ratio, says)
			default:
				t.Logf("%s recovers %.2f [%.2f, %.2f] of the gap %s", c.factor, *share.Mean, *share.Low, *share.High, c.ratio)
				tried++
			}
		})
	}
	t.Run("ceiling", func(t *attempt) { // that two cells share, so that there is no gap
		all, says := triedFactors(t, plantedSuite, "slower/slow", "rate")
		if first := all[0]; first.Factor != "rate" || !strings.Contains(first.Shows, "slower") {
			t.Errorf("want a gap without the ceiling, got %+v\n%s", first, says)
		}
	})
	if asked > 6 && tried < 6 { // not where one was asked for alone
		t.Errorf("of %d planted causes %d have a gap to give back", asked, tried)
	}
}

// triedFactors are what the factor that was planted and another one give back of a ratio's gap, the most first.
func triedFactors(t testing.TB, suite, ratio, factor string) (all []triedFactor, says string) {
	t.Helper()
	o := windtunnel(t, 3*time.Minute, "explain", suiteFile(t, suite), ratio, "--factors", factor+",checksum", "--budget", "40s", "--window", "500ms", "--precision", "1%", "--json")
	var r explained
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 || r.Recovered == nil ||
		!slices.ContainsFunc(r.Recovered.Factors, func(f triedFactor) bool { return f.Factor == factor }) {
		t.Fatalf("%s: exit code %d, %v\n%s%s", ratio, o.code, err, o.out, o.err)
	}
	return r.Recovered.Factors, o.err
}
