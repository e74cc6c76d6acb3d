package testbed

import (
	"slices"
	"strings"
	"testing"
)

// The goldens of every path are beside the registry of paths.
func TestDraw(t *testing.T) {
	drawing := Draw(overlay())
	for _, word := range []string{"NODE a (CPU 0)", "BRIDGE", "VXLAN 7", "AGENT", "10.0.0.1", "mtu 1450", "nic0", "172.16.0.11", "STACK"} {
		if !strings.Contains(drawing, word) {
			t.Errorf("%s is not drawn in\n%s", word, drawing)
		}
	}
	if Draw(Graph{}) != "" {
		t.Error("nothing is drawn as something")
	}
}

func TestMirroredDrawingIsAMirrorImage(t *testing.T) {
	draw := func(mirror bool) []string {
		page := &canvas{}
		p := pen{on: page, width: 12, mirror: mirror}
		p.box(0, 0, 12, 5, nil)
		p.box(2, 1, 5, 3, []string{"x"})
		p.across(6, 11, 2)
		return strings.Split(strings.TrimSpace(page.String()), "\n")
	}
	plain, mirrored := draw(false), draw(true)
	for i, line := range mirrored {
		runes := []rune(line)
		slices.Reverse(runes)
		if string(runes) != plain[i] {
			t.Errorf("%q is not the mirror image of %q", line, plain[i])
		}
	}
}

func TestRanges(t *testing.T) {
	for want, cpus := range map[string][]int{"0": {0}, "0-3": {0, 1, 2, 3}, "0-1,4,6-7": {0, 1, 4, 6, 7}} {
		if got := ranges(cpus); got != want {
			t.Errorf("%v: %s, want %s", cpus, got, want)
		}
	}
}
