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
		var p page
		p.tree(c.tree)
		if n := strings.Count(p.String(), "<li>"); n == 0 || n > treeMost || strings.Contains(p.String(), "<script>") {
			t.Errorf("%s: %d calls", c.of, n)
		}
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

// TestCallsAreOpenedOneByOne: calls that made only the next are one, the widest come first, and what took little is left out.
func TestCallsAreOpenedOneByOne(t *testing.T) {
	m := layered()
	var task result.ProfileTask
	for i := range m.file.Profiles {
		if p := &m.file.Profiles[i]; p.Missing == "" {
			p.Names = []string{"do_syscall_64", "tcp_sendmsg", "tcp_push", "rep_movs_alternative", "rarely"}
			task = result.ProfileTask{Name: "worker", Whose: result.OfCell, Frames: []result.ProfileFrame{
				{-1, 0, 0}, {0, 1, 0}, {1, 2, 30}, {1, 3, 69}, {1, 4, 0}, {2, 3, 100},
			}}
			p.Tasks = []result.ProfileTask{task}
		}
	}
	tree := drawFlames(analysis.Of(m.file))[0].tree
	if len(tree) != 1 || tree[0].says != "worker → do_syscall_64 → tcp_sendmsg: 100 % (TCP)" || len(tree[0].under) != 2 {
		t.Fatalf("%+v", tree)
	}
	first, second := tree[0].under[0], tree[0].under[1]
	if first.says != "tcp_push: 65.3 % (TCP), 15.1 % by itself" || len(first.under) != 1 || second.says != "rep_movs_alternative: 34.7 % (copy)" {
		t.Errorf("%+v", tree[0].under)
	}
}
