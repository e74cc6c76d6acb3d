package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// byTwo makes a run whose cells A and B differ by their generator alone; B moves a share of
// what A does.
func byTwo(blocks int, share float64, change func(*result.File)) result.File {
	f := run(blocks, func(t *result.Trial) {
		bytes := uint64(1e8 + 1e5*float64(t.Block%3))
		if t.Cell == "B" {
			bytes = uint64(float64(bytes)*share) + uint64(t.Block%2)*10_000
			t.Pairs[0].Sender.Generator = &result.Generator{Name: "iperf3", Version: "3.12", Command: "iperf3 -c b"}
		}
		t.Pairs[0].Sender.Bytes, t.Pairs[0].Receiver.Bytes = bytes, bytes
	})
	f.Cells[0].Load = result.Options{"message": 1400.0}
	f.Cells[1].Load = result.Options{"message": 1400.0, "generator": "iperf3"}
	if change != nil {
		change(&f)
	}
	return f
}

func TestGeneratorsThatDisagreeAreDoubted(t *testing.T) {
	for name, c := range map[string]struct {
		file result.File
		want bool
	}{
		"far apart":      {byTwo(6, 0.8, nil), true},
		"alike":          {byTwo(6, 1, nil), false},
		"few blocks":     {byTwo(3, 0.8, nil), false},
		"another path":   {byTwo(6, 0.8, func(f *result.File) { f.Cells[1].Path = "bridge" }), false},
		"another load":   {byTwo(6, 0.8, func(f *result.File) { f.Cells[1].Load["message"] = 1390.0 }), false},
		"one generator":  {byTwo(6, 0.8, func(f *result.File) { f.Cells[1].Load["generator"] = "windtunnel" }), false},
		"two, not ours":  {byTwo(6, 0.8, func(f *result.File) { f.Cells[0].Load["generator"] = "nuttcp" }), true},
		"no ratio asked": {byTwo(6, 0.8, func(f *result.File) { f.Run.Ratios = nil }), true},
	} {
		var says []string
		for _, d := range Of(c.file).Doubts {
			if d.Kind == "generators-disagree" {
				says = append(says, d.Cell+": "+d.Says)
			}
		}
		if (len(says) == 1) != c.want {
			t.Errorf("%s: %q", name, says)
		}
		if name == "far apart" && !(strings.HasPrefix(says[0], "B: by iperf3 it is 640.7 [") && strings.Contains(says[0], "] Mbit/s, by windtunnel in cell A 800.8 [") && strings.Contains(says[0], "20.00 % slower")) {
			t.Error(says[0])
		}
	}
}

func TestGeneratorsAreNamed(t *testing.T) {
	f := Of(byTwo(5, 1, nil))
	b, _ := f.Cell("B")
	if len(b.Generators) != 1 || b.Generators[0].End != "sender" || b.Generators[0].Command != "iperf3 -c b" {
		t.Errorf("%+v", b.Generators)
	}
	if a, _ := f.Cell("A"); a.Generators != nil {
		t.Errorf("%+v", a.Generators)
	}
}
