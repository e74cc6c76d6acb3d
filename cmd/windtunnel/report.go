package main

import (
	"io"

	"github.com/spf13/cobra"

	"windtunnel/analysis"
	"windtunnel/report"
	"windtunnel/result"
)

func reportCommand(s streams) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "report RUN", Short: "Print a run's report again: RUN is its folder or its run.jsonl", Args: one("RUN"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := report.Check(format); err != nil {
				return refused(err)
			}
			_, err := writeReport(s.out, args[0], format)
			return ended(err)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, md or json")
	return c
}

// writeReport reads a run back and prints its report: a report needs nothing but
// the file.
func writeReport(out io.Writer, dir, format string) (analysis.Findings, error) {
	file, err := result.Read(dir)
	if err != nil {
		return analysis.Findings{}, err
	}
	findings := analysis.Of(file)
	return findings, report.Write(format, out, findings, look(out))
}
