package scenario

import (
	"strings"
	"testing"

	"windtunnel/result"
)

func TestRatioOfASuite(t *testing.T) {
	spec := parse(t, head+`
cells:
  A: {path: wire, checksum: software, pairs: [{from: a, to: b}]}
  B: {like: A, checksum: as-found}
`)
	if a, b := spec.Cells[0].Checksum, spec.Cells[1].Checksum; a != ChecksumSoftware || b != ChecksumFound {
		t.Errorf("checksums %q and %q", a, b)
	}
	got, err := spec.Ratio("cpu.b: B/A")
	if want := (result.Ratio{Metric: result.CPUPercent("b"), Over: "B", Under: "A"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for text, says := range map[string]string{
		"":            "the end",
		"B":           "needs `/`",
		"B/A and B/A": "after the end of the ratio",
		"B/C":         "unknown cell `C`",
		"cpu.c: B/A":  "unknown metric `cpu.c`",
		"A/A":         "is always 1",
	} {
		if _, err := spec.Ratio(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s.yaml") {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}
