package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/analysis"
	"windtunnel/report"
)

func reportCommand(s streams) *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use: "report RUN", Short: "Print a run's report again: RUN is its folder or its run.jsonl", Args: takes("RUN"),
		Example: "  windtunnel report runs/20260102-030405-overlay\n" +
			"  windtunnel report runs/20260102-030405-overlay --format html > overlay.html\n" +
			"  windtunnel report runs/20260102-030405-overlay --format md --out docs/overlay",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := report.Check(format); err != nil {
				return refused(err)
			}
			if out == "" {
				_, err := writeReport(s.out, args[0], format)
				return ended(err)
			}
			return ended(reportInto(s, args[0], format, out))
		},
	}
	var formats []string
	for _, f := range report.Formats() {
		formats = append(formats, f.Name+" ("+f.Says+")")
	}
	c.Flags().StringVar(&format, "format", "text", strings.Join(formats, "; "))
	c.Flags().StringVar(&out, "out", "", "write report.FORMAT into this folder instead, with the pictures that belong to Markdown")
	return c
}

// writeReport reads a run back and prints its report: a report needs nothing but
// the file.
func writeReport(out io.Writer, dir, format string) (analysis.Findings, error) {
	file, err := readRun(dir)
	if err != nil {
		return analysis.Findings{}, err
	}
	findings := analysis.Of(file)
	return findings, report.Write(format, out, findings, look(out))
}

// reportInto writes a report as files and says which.
func reportInto(s streams, dir, format, out string) error {
	file, err := readRun(dir)
	if err != nil {
		return err
	}
	names, err := writeFiles(out, format, analysis.Of(file))
	if err == nil {
		fmt.Fprintln(s.err, "wrote "+strings.Join(names, ", "))
	}
	return err
}

// writeFiles writes a report's files into a folder, which is made where it is missing. Each is whole or not there, and
// takes the place of what had its name before, be that a link.
func writeFiles(dir, format string, f analysis.Findings) (names []string, err error) {
	files, err := report.Files(format, f, report.Options{})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the report's folder: %w", err)
	}
	for _, file := range files {
		name := filepath.Join(dir, file.Name)
		if err := writeWhole(name, file.Content); err != nil {
			return names, fmt.Errorf("writing the report: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

func writeWhole(name string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), ".report-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
