// Package report writes findings for people and for programs: one file a format,
// one line each in the registry. Text, Markdown and HTML are looks of one document,
// so that they cannot say different things; JSON is the object that other programs
// rely on.
package report

import (
	"bytes"
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
	files func(analysis.Findings) ([]File, error) // of a format that has a name and pictures of its own in a folder; nil: report.NAME
}

// File is one file of a report in a folder.
type File struct {
	Name    string // without a folder
	Content []byte
}

// formats is the registry: a new format is one file and one line.
var formats = []Format{
	{"text", "aligned tables for a terminal", writeText, nil},
	{"md", "Markdown, in a folder with its pictures", writeMarkdown, markdownFiles},
	{"html", "one page, for a browser and for print", writeHTML, nil},
	{"json", "one object, for programs", writeJSON, nil},
	{"csv", "one line a figure, for spreadsheets", writeCSV, nil},
	{"folded", "one line a sampled stack, for flame graph tools", writeFolded, nil},
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

// Files writes the findings in a format as files of a folder, the report itself, report.FORMAT, first. Names are this
// package's own: none comes from a run file.
func Files(format string, f analysis.Findings, o Options) ([]File, error) {
	known, err := find(format)
	if err != nil {
		return nil, err
	}
	if known.files != nil {
		return known.files(f)
	}
	var text bytes.Buffer
	if err := known.write(&text, f, o); err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return []File{{"report." + known.Name, text.Bytes()}}, nil
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
