package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"windtunnel/analysis"
)

// writeFolded writes the sampled stacks as other flame graph tools take them: a line a stack, its frames with
// semicolons between, the cell and the node in front, and the microseconds of CPU time as the count
// (https://github.com/brendangregg/FlameGraph, stackcollapse).
func writeFolded(w io.Writer, f analysis.Findings, _ Options) error {
	for _, c := range f.Cells {
		for _, flame := range c.Flames {
			if err := fold(w, foldedName(c.Spec.Name)+";"+foldedName(flame.Node), flame.Root); err != nil {
				return err
			}
		}
	}
	return nil
}

func fold(w io.Writer, stack string, f *analysis.FlameFrame) error {
	if own := math.Round(f.Own * 1e6); own > 0 {
		if _, err := fmt.Fprintf(w, "%s %.0f\n", stack, own); err != nil {
			return err
		}
	}
	for _, called := range f.Called() {
		if err := fold(w, stack+";"+foldedName(called.Name), called); err != nil {
			return err
		}
	}
	return nil
}

// foldedName has none of the signs that part frames and counts.
func foldedName(name string) string {
	return strings.NewReplacer(";", ":", " ", "_").Replace(name)
}
