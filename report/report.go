// Package report writes findings for people and for programs: one file a format,
// one line each in the registry. Text and Markdown are two looks of one document,
// so that they cannot say different things; JSON is the object that other programs
// rely on.
package report

import (
	"fmt"
	"io"
	"strings"

	"windtunnel/analysis"
)

// Options are what the caller knows and a format may use.
type Options struct {
	Color bool // the output is a terminal that shows colours
	Width int  // columns; 0: the widest, 100
}

// Format is one way to write findings.
type Format struct {
	Name  string
	Says  string // one line for help
	write func(io.Writer, analysis.Findings, Options) error
}

// formats is the registry: a new format is one file and one line.
var formats = []Format{
	{"text", "aligned tables for a terminal", writeText},
	{"md", "Markdown, with the drawn topologies", writeMarkdown},
	{"json", "one object, for programs", writeJSON},
}

// Formats lists the formats, the default first.
func Formats() []Format { return append([]Format(nil), formats...) }

// Write writes the findings in a format. An unknown format's error names the
// nearest one.
func Write(format string, w io.Writer, f analysis.Findings, o Options) error {
	known, err := find(format)
	if err != nil {
		return err
	}
	if err := known.write(w, f, o); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Check tells, before a long run, whether Write will know the format.
func Check(format string) error {
	_, err := find(format)
	return err
}

func find(name string) (Format, error) {
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("no report format %q: did you mean %s? There are %s", name, nearest(name), names())
}

func names() string {
	var all []string
	for _, f := range formats {
		all = append(all, f.Name)
	}
	return strings.Join(all, ", ")
}

// nearest is the format whose name takes the fewest edits to reach.
func nearest(word string) string {
	best, fewest := "", int(^uint(0)>>1)
	for _, f := range formats {
		if d := edits(strings.ToLower(word), f.Name); d < fewest {
			best, fewest = f.Name, d
		}
	}
	return best
}

// edits counts the insertions, deletions and replacements from a to b
// (Levenshtein, "Binary codes capable of correcting deletions, insertions, and
// reversals", 1966).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
