package analysis

import (
	"fmt"
	"testing"

	"windtunnel/result"
)

// pasts are runs of a suite whose cells have these rates, a day apart, the last written first.
func pasts(rates []float64, change func(i int, f *result.File)) []Past {
	var all []Past
	for i, rate := range rates {
		f := aRun(uint64(i+1), three(rate), 8, 0.002)
		f.Run.ID, f.Run.StartedAt = fmt.Sprint("run", i), fmt.Sprintf("2026-01-%02dT00:00:00Z", i+1)
		if change != nil {
			change(i, &f)
		}
		all = append([]Past{PastOf(f.Run.ID, f)}, all...)
	}
	return all
}

func seriesOf(h History, name string) []Series {
	var all []Series
	for _, s := range h.Series {
		if s.Name() == name {
			all = append(all, s)
		}
	}
	return all
}

func TestHistoryMarksAChange(t *testing.T) {
	rates := []float64{1, 1.01, 0.99, 1, 1.005, 0.995, 0.8, 0.81, 0.79, 0.8, 0.805, 0.795}
	h := HistoryOf("s", pasts(rates, func(i int, f *result.File) {
		if i >= 6 {
			f.Run.Nodes[0].Fingerprint["kernel.release"] = "6.2"
		}
	}), nil)
	if h.Runs[0].Run.ID != "run0" || len(h.Runs) != len(rates) {
		t.Fatalf("runs begin with %s", h.Runs[0].Run.ID)
	}
	a := seriesOf(h, "A")
	if len(a) != 1 || len(a[0].Points) != len(rates) || len(a[0].Changes) != 1 {
		t.Fatalf("%+v", a)
	}
	c := a[0].Changes[0]
	if c.Index != 6 || c.Verdict != "20 % slower" || len(c.Differences) != 1 || c.Differences[0].What != "kernel.release" {
		t.Errorf("%+v", c)
	}
	if ratio := seriesOf(h, "B/A"); len(ratio) != 1 || len(ratio[0].Points) != len(rates) || len(ratio[0].Changes) != 0 {
		t.Errorf("the ratio did not change: %+v", ratio)
	}
}

// However clear a change is, fewer runs do not tell it from chance.
func TestEnoughRuns(t *testing.T) {
	clear := []float64{1, 1.01, 0.99, 1, 1.005, 0.5, 0.51, 0.49, 0.5}
	if h := HistoryOf("s", pasts(clear, nil), nil); len(clear) != EnoughRuns || len(seriesOf(h, "A")[0].Changes) != 1 {
		t.Errorf("of %d runs: %+v", len(clear), seriesOf(h, "A")[0].Changes)
	}
	if NewLevel(EnoughRuns-1) != 0 || NewLevel(EnoughRuns) != 4 {
		t.Errorf("%d runs are not the least", EnoughRuns)
	}
	if h := HistoryOf("s", pasts(clear[:8], nil), nil); len(seriesOf(h, "A")[0].Changes) != 0 {
		t.Errorf("of 8 runs: %+v", seriesOf(h, "A")[0].Changes)
	}
}

// Runs of another machine, and cells with other settings, are series of their own; who comes back goes on.
func TestHistoryComparesNothingThatMayNotBe(t *testing.T) {
	h := HistoryOf("s", pasts([]float64{1, 1, 3, 3, 1}, func(i int, f *result.File) {
		if i == 2 || i == 3 {
			f.Run.Nodes[0].Fingerprint["cpu.model"] = "Y"
		}
	}), nil)
	a := seriesOf(h, "A")
	if len(a) != 2 || len(a[0].Points) != 3 || len(a[1].Points) != 2 || a[1].Why == "" || a[0].Why != "" {
		t.Errorf("%+v", a)
	}
	if ratio := seriesOf(h, "B/A"); len(ratio) != 2 || len(ratio[0].Points) != 3 {
		t.Errorf("%+v", ratio)
	}
	h = HistoryOf("s", pasts([]float64{1, 1, 1}, func(i int, f *result.File) {
		if i == 2 {
			f.Cells[0].Load["streams"] = int64(4)
		}
	}), nil)
	if a, b := seriesOf(h, "A"), seriesOf(h, "B"); len(a) != 2 || len(b) != 1 {
		t.Errorf("%d series of A, %d of B", len(a), len(b))
	}
}

func TestHistoryOfOneMetric(t *testing.T) {
	h := HistoryOf("s", pasts([]float64{1, 1}, nil), []result.Metric{result.SentRate, result.Loss})
	if a := seriesOf(h, "A"); len(a) != 1 || a[0].Metric != result.SentRate {
		t.Errorf("%+v", a)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var p Past
	for i := range mostSeries + 10 {
		p.Cells = append(p.Cells, Cell{Spec: result.Cell{Name: fmt.Sprint(i)}, Status: Measured, WindowSeconds: 1,
			Figures: map[result.Metric]result.Figure{result.ReceivedRate: {Mean: 1, N: 2}}})
	}
	h := HistoryOf("s", []Past{p, p}, nil)
	if len(h.Series) != mostSeries || len(h.Doubts) != 1 {
		t.Errorf("%d series, %v", len(h.Series), h.Doubts)
	}
}
