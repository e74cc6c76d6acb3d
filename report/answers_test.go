package report

import (
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
	"windtunnel/stats"
)

// TestCausesOfOneMetricAreNotThoseOfAnother: "as for B/A" stands only where the same was found.
func TestCausesOfOneMetricAreNotThoseOfAnother(t *testing.T) {
	of := func(m result.Metric, factor string) analysis.Ratio {
		return analysis.Ratio{Ratio: result.Ratio{Metric: m, Over: "B", Under: "A"}, Estimate: stats.Estimate{Estimate: 0.5, N: 1},
			Causes: []analysis.Cause{{Factor: factor, Says: factor + " it is"}}}
	}
	s := causes(analysis.Findings{Ratios: []analysis.Ratio{of(result.ReceivedRate, "mtu"), of(result.SentRate, "mtu"), of(result.SenderCost, "path")}})
	if got := s.items[1].lines[0].says; got != "as for B/A" {
		t.Error(got)
	}
	if got := s.items[2].lines[0].says; got == "as for B/A" {
		t.Error("another metric's cause is hidden: ", got)
	}
}
