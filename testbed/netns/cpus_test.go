package netns

import (
	"slices"
	"testing"
)

func TestParseCPUList(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"0-1\n", []int{0, 1}},
		{"0,2-4,8", []int{0, 2, 3, 4, 8}},
		{"\n", nil},
	} {
		if got, err := parseCPUList(c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v (%v), want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"a", "3-1", "1-"} {
		if got, err := parseCPUList(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestCPUMask(t *testing.T) {
	for _, c := range []struct {
		cpus []int
		want string
	}{
		{[]int{0}, "1"},
		{[]int{1}, "2"},
		{[]int{0, 1, 5}, "23"},
		{[]int{31, 32}, "1,80000000"},
		{[]int{64}, "1,00000000,00000000"},
	} {
		if got := cpuMask(c.cpus); got != c.want {
			t.Errorf("%v: %s, want %s", c.cpus, got, c.want)
		}
		if got, err := parseMask("00000000," + c.want + "\n"); err != nil || !slices.Equal(got, c.cpus) {
			t.Errorf("%s reads as %v (%v), want %v", c.want, got, err, c.cpus)
		}
	}
	if _, err := parseMask("xyz"); err == nil {
		t.Error("nonsense is taken as a mask")
	}
}
