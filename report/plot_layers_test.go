package report

import (
	"strings"
	"testing"

	"windtunnel/analysis"
	"windtunnel/result"
)

func TestGoldenLayersPage(t *testing.T) { golden(t, "layers", "html", layered()) }

// TestFlamesAreBounded: whatever a run file holds, in frames, in depth and in names.
func TestFlamesAreBounded(t *testing.T) {
	m := layered()
	for i := range m.file.Profiles {
		p := &m.file.Profiles[i]
		if p.Missing != "" {
			continue
		}
		p.Names = append(p.Names, strings.Repeat("<script>", 1000))
		deep := result.ProfileTask{Name: "</svg>", Whose: result.OfCell}
		for k := range int32(200) {
			deep.Frames = append(deep.Frames, result.ProfileFrame{k - 1, int32(len(p.Names) - 1), 5})
		}
		for k := range int32(5000) {
			deep.Frames = append(deep.Frames, result.ProfileFrame{-1, 1 + k%3, 1})
		}
		p.Tasks = append(p.Tasks, deep)
	}
	f := analysis.Of(m.file)
	drawn := 0
	for _, c := range drawFlames(f) {
		drawn += strings.Count(c.picture.String(), "<rect")
		if c.picture.height > (flameDepth+4)*flameRow+200 {
			t.Errorf("%s is %g pixels high", c.of, c.picture.height)
		}
		if strings.Contains(c.picture.String(), "<script>") {
			t.Errorf("%s has a script", c.of)
		}
	}
	if drawn == 0 || drawn > flameFrames+100 {
		t.Errorf("%d rectangles", drawn)
	}
}
