package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"windtunnel/result"
)

// defineWhy adds the flags by which a run tries the suspects of a ratio beside all else.
func (f *runFlags) defineWhy(c *cobra.Command) {
	c.Flags().StringVar(&f.why, "why", "", "try the suspects of this ratio (B/A, or with a metric) by further cells, and say what each gives back")
	f.defineFactors(c)
}

func (f *runFlags) defineFactors(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.factors, "factors", nil, "of the suspects only these: gro,tso,checksum,mtu,... (windtunnel plan SUITE --why B/A lists them)")
}

// explainSuite adds the flags of a run to the command, and returns what measures a ratio of a suite and its suspects,
// and nothing else of the suite.
func explainSuite(s streams, c *cobra.Command) func(ctx context.Context, suite, ratio string) error {
	f := runFlags{short: true}
	f.define(c)
	f.defineFactors(c)
	return func(ctx context.Context, suite, text string) error {
		f.why = text
		settings, err := f.settings()
		if err != nil {
			return refused(err)
		}
		spec, err := loadSuite(suite)
		if err != nil {
			return err
		}
		ratio, err := spec.Ratio(text)
		if err != nil {
			return refused(fmt.Errorf("the ratio %s: %w", result.Clip(text), err))
		}
		if spec, err = spec.Only([]string{ratio.Over, ratio.Under}); err != nil {
			return refused(err)
		}
		spec.Ratios, spec.Hypotheses = []result.Ratio{ratio}, nil
		return runSpec(ctx, s, spec, settings, f, nil)
	}
}
