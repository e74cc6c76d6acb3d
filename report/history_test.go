package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
)

// aHistory is one of runs whose cell B loses a tenth with another kernel, and of which one is of another machine.
func aHistory(runs int) analysis.History {
	var past []analysis.Past
	for i := range runs {
		b := containers
		kernel := "6.12.1"
		if i >= runs/2 {
			b.megabits *= 0.9
			kernel = "6.13.0"
		}
		m := contrail().trials("A", 10*i+1, 10*i+6, raw).trials("B", 10*i+1, 10*i+6, b).trials("D", 10*i+1, 10*i+6, overlay).ended("precision")
		m.file.Run.ID, m.file.Run.StartedAt = fmt.Sprintf("run%02d", i), fmt.Sprintf("2026-01-%02dT03:04:05Z", i+1)
		for _, n := range m.file.Run.Nodes {
			n.Fingerprint["kernel.release"] = kernel
			n.Fingerprint["cpu.model"] = map[bool]string{true: "a laptop's", false: "a server's"}[i == 3]
		}
		past = append(past, analysis.PastOf("runs/"+m.file.Run.ID, m.file))
	}
	h := analysis.HistoryOf("contrail-windows", past, []result.Metric{result.ReceivedRate})
	h.Left = []analysis.LeftOut{{Path: "runs/broken", Why: "line 3: not a record: the line breaks off after 18 bytes"}}
	return h
}

// unchanged is a history of eleven runs of the same.
func unchanged() analysis.History {
	h := aHistory(30)
	return analysis.HistoryOf(h.Suite, h.Runs[4:15], []result.Metric{result.ReceivedRate})
}

func TestHistoryGoldens(t *testing.T) {
	for name, h := range map[string]analysis.History{"normal": aHistory(14), "few": aHistory(2), "none": {Suite: "s"}, "unchanged": unchanged()} {
		for _, format := range HistoryFormats() {
			var got bytes.Buffer
			if err := WriteHistory(format, &got, h, Options{}); err != nil {
				t.Fatal(err)
			}
			goldenText(t, "history-"+name, format, got.String())
		}
	}
}

func TestUnknownHistoryFormatNamesTheNearest(t *testing.T) {
	if err := WriteHistory("jsno", &bytes.Buffer{}, analysis.History{}, Options{}); err == nil || !strings.Contains(err.Error(), "`json`") {
		t.Error(err)
	}
	for _, format := range HistoryFormats() {
		if err := WriteHistory(format, fullDisk{}, aHistory(2), Options{}); err == nil {
			t.Errorf("%s: a full disk is no error", format)
		}
	}
}
