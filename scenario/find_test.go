package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/result"
)

// finding is a suite whose traffic has the given keys beside its kind.
func finding(keys string) (Spec, error) {
	text := "suite: s\nnodes: {a: {}, b: {}}\ntraffic: {kind: stream, " + keys + "}\ncells:\n  A: {path: wire, pairs: [{from: a, to: b}]}\n  B: {like: A, traffic: {find: none}}\n"
	return Parse([]byte(text), "s.yaml", words())
}

func TestFind(t *testing.T) {
	for keys, want := range map[string]result.Find{
		"find: {loss: [0, 0.1%, 0.5%]}":                     {Losses: []float64{0, 0.001, 0.005}, Method: "mlrsearch"},
		"find: {loss: 0, method: rfc2544, budget: 20min}":   {Losses: []float64{0}, Method: "rfc2544", BudgetSeconds: 1200},
		"find: {loss: 1%, max: 2Mpps, min: 10k/s}":          {Losses: []float64{0.01}, Method: "mlrsearch", Unit: "packets/s", Min: 1e4, Max: 2e6},
		"find: {loss: 1%, max: 2Gbit/s}":                    {Losses: []float64{0.01}, Method: "mlrsearch", Unit: "bit/s", Max: 2e9},
		"find: {loss: 1%, unit: packets/s, method: tst009}": {Losses: []float64{0.01}, Method: "tst009", Unit: "packets/s"},
	} {
		spec, err := finding(keys)
		if err != nil {
			t.Errorf("%s: %v", keys, err)
			continue
		}
		if d := cmp.Diff(&want, spec.Cells[0].Find); d != "" {
			t.Errorf("%s (-want +got)\n%s", keys, d)
		}
		if spec.Cells[1].Find != nil {
			t.Errorf("%s: `find: none` leaves %+v", keys, spec.Cells[1].Find)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	for keys, says := range map[string]string{
		"find: {}":                                 "lacks `loss`",
		"find: {loss: []}":                         "`loss` is empty",
		"find: {loss: 5}":                          "lacks its unit",
		"find: {loss: 100%}":                       "all or more",
		"find: {loss: [0, 0]}":                     "stands here twice",
		"find: {los: 0}":                           "did you mean `loss`",
		"find: {loss: 0, method: rfc2554}":         "did you mean `rfc2544`",
		"find: {loss: 0, unit: pps}":               "unknown unit `pps`",
		"find: {loss: 0, min: 2Mpps, max: 1Mpps}":  "`min` is not below `max`",
		"find: {loss: 0, min: 2Mpps, max: 1bit/s}": "`max`",
		"find: {loss: 0, max: 0/s}":                "`max` is 0",
		"find: often":                              "`find` is",
	} {
		if _, err := finding(keys); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", keys, err, says)
		}
	}
	text := "suite: s\nnodes: {a: {}, b: {}}\ntraffic: {kind: stream}\ncells:\n  A: {path: wire, pairs: [{from: a, to: b}], beside: {kind: stream, find: {loss: 0}}}\n"
	if _, err := Parse([]byte(text), "s.yaml", words()); err == nil || !strings.Contains(err.Error(), "find") {
		t.Errorf("a search beside the load: %v", err)
	}
}
