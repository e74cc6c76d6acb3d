package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/analysis"
	"windtunnel/report"
	"windtunnel/result"
)

func compareCommand(s streams) *cobra.Command {
	var format, gate string
	var metrics []string
	c := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Say what differs between two runs: first how they were made, then cell by cell",
		Long: "Compares the second run with the first: machine, versions and settings first, then each cell.\n" +
			"--gate 5% ends with 3 where a figure is worse by more than 5 % with the whole of its interval. What could not be\n" +
			"compared never breaks a gate: it is named. It ends with 2 where the runs may not be compared, and with 4 where\n" +
			"a gate was asked for and no figure has an interval.",
		Example: "  windtunnel compare runs/before runs/after --gate 5%\n" +
			"  windtunnel compare runs/before runs/after --gate 5% --metric received --format junit > windtunnel.xml\n" +
			"  windtunnel compare runs/before runs/after --format github >> \"$GITHUB_STEP_SUMMARY\"",
		Args: takes("RUN", "RUN (the earlier one first)"),
		RunE: func(_ *cobra.Command, args []string) error {
			what, err := comparison(gate, metrics)
			if err == nil {
				err = report.CheckCompared(format)
			}
			if err != nil {
				return refused(err)
			}
			return compareRuns(s, args[0], args[1], what, format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", strings.Join(report.ComparedFormats(), ", "))
	c.Flags().StringVar(&gate, "gate", "", "end with 3 where a figure is worse by more than this, with its whole interval: 5%")
	c.Flags().StringSliceVar(&metrics, "metric", nil, "compare these figures (received, cost.together, latency.p99, ...) instead of those that a cell's load is for")
	return c
}

// comparison checks the flags.
func comparison(gate string, metrics []string) (analysis.Comparison, error) {
	var what analysis.Comparison
	var err error
	if gate != "" {
		if what.Limit, err = shareFlag("gate", gate); err != nil {
			return what, err
		}
	}
	what.Metrics, err = metricsByWords(metrics)
	return what, err
}

// shareFlag reads a flag's percentage as a share: 5% is 0.05. Neither nothing nor all is one.
func shareFlag(flag, text string) (float64, error) {
	percent, err := result.ParsePercent(text)
	if err != nil || !(percent > 0 && percent < 100) {
		return 0, fmt.Errorf("--%s %q is no percentage between 0 and 100; write 5%% for 5 per cent", flag, result.Clip(text))
	}
	return percent / 100, nil
}

func compareRuns(s streams, before, after string, what analysis.Comparison, format string) error {
	one, err := readRun(before)
	if err != nil {
		return err
	}
	other, err := readRun(after)
	if err != nil {
		return err
	}
	compared := analysis.Compare(one, other, what)
	if err := report.WriteCompared(format, s.out, compared, look(s.out)); err != nil {
		return failed(err)
	}
	switch {
	case compared.Forbidden != "":
		return refused(errors.New("these runs may not be compared: " + compared.Forbidden))
	case compared.Gate == analysis.GateBroken:
		return coded{exitGate, fmt.Errorf("the gate of %s did not hold", gatePercent(what.Limit))}
	case compared.Gate == analysis.GateUnjudged:
		return coded{exitUnusable, errors.New("no figure has an interval, so that the gate could not be judged; the doubts above say why")}
	}
	return nil
}

func gatePercent(share float64) string { return fmt.Sprintf("%g %%", share*100) }

// metricsByWords reads what suites call figures.
func metricsByWords(words []string) ([]result.Metric, error) {
	var metrics []result.Metric
	for _, word := range words {
		m, ok := result.MetricByWord(word)
		if !ok {
			return nil, fmt.Errorf("--metric: %s", result.UnknownWord("figure", word, append(result.MetricWords(nil), "cpu.NODE")))
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}
