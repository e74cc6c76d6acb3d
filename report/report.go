// Package report writes findings for people and for programs: one file a format,
// one line each in the registry. Text and Markdown are two looks of one document,
// so that they cannot say different things; JSON is the object that other programs
// rely on.
package report

import (
	"fmt"
	"io"

	"windtunnel/analysis"
	"windtunnel/result"
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
	{"csv", "one line a figure, for spreadsheets", writeCSV},
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
	return Format{}, fmt.Errorf("%s", result.UnknownWord("report format", name, names()))
}

func names() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.Name)
	}
	return all
}
