//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// suspectSuite has a cell that lacks large-send offload inside its nodes, and differs by an option that does nothing to
// full segments.
const suspectSuite = `
suite: planted
asks: Why is B slower than A?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 128KiB}
path: bridge
cells:
  A: {pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  B: {like: A, segmentation: no-lso, traffic: {nodelay: true}}
`

// explained is what `explain --json` says of suspects.
type explained struct {
	Recovered *struct {
		Ratio    string
		Factors  []triedFactor
		Untested []struct{ Factor, Reason string }
	}
}

// triedFactor is one of them.
type triedFactor struct {
	Factor string
	Share  struct {
		figure
		Low, High *float64
	}
	Shows string
}

// sharesKnown tells whether each factor has its share. One may lack it where another has it: they do not have the same
// blocks, as a budget may end within one.
func sharesKnown(factors []triedFactor) bool {
	return len(factors) > 0 &&
		!slices.ContainsFunc(factors, func(f triedFactor) bool { return f.Share.Mean == nil })
}

// TestThePlantedCauseIsNamedFirst by intervention: what was taken from B gives its gap back, and the other difference does
// not. Where somebody else has the machine and blocks are lost, a longer budget has enough.
func TestThePlantedCauseIsNamedFirst(t *testing.T) { measured(t, testThePlantedCauseIsNamedFirst) }

func testThePlantedCauseIsNamedFirst(t *attempt) {
	needsRoot(t)
	var r explained
	var o outcome
	for _, budget := range []string{"21s", "60s"} {
		o = windtunnel(t, 2*time.Minute, "explain", suiteFile(t, suspectSuite), "B/A", "--factors", "tso,nodelay,steering",
			"--budget", budget, "--window", "400ms", "--precision", "1%", "--json")
		r = explained{}
		if err := json.Unmarshal([]byte(o.out), &r); err != nil || o.code != 0 || r.Recovered == nil {
			t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
		}
		if sharesKnown(r.Recovered.Factors) {
			break
		}
	}
	found := r.Recovered
	if found.Ratio != "B/A" || len(found.Factors) != 2 || found.Factors[0].Factor != "tso" {
		t.Fatalf("%+v\n%s", found, o.err)
	}
	if first := mean(found.Factors[0].Share.figure); first < 0.5 || first > 1.5 {
		t.Errorf("TSO recovers %g of the gap\n%s", first, o.err)
	}
	if len(found.Untested) != 1 || found.Untested[0].Factor != "steering" || found.Untested[0].Reason == "" {
		t.Errorf("not tried: %+v", found.Untested)
	}
}
