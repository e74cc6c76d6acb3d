package core_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

// TestStepNames: the names in steps.go are those of the C headers, in their order.
func TestStepNames(t *testing.T) {
	cases := []struct {
		file    string
		pattern string
		want    []string
	}{
		{"vr_trace.h", `(?m)^\tX\((\w+),`, core.StepNames[1:]},
		{"vr_verdict.h", `(?m)^\tVR_OP_(\w+),`, core.OperationNames[:]},
	}
	for _, c := range cases {
		text, err := os.ReadFile(filepath.Join(golden.Folder(), c.file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(c.pattern).FindAllSubmatch(text, -1) {
			got = append(got, strings.ToLower(string(m[1])))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s has %q, steps.go %q", c.file, got, c.want)
		}
	}
	if core.StepND != len(core.StepNames)-1 {
		t.Error("the numbers of steps.go do not end with its names")
	}
}
