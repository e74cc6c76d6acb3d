package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/oneoff"
	"windtunnel/result"
	"windtunnel/search"
)

// searchFlags are what `windtunnel search` takes beside its kind's options.
type searchFlags struct {
	load                    loadFlags
	kind                    string
	port                    int
	losses                  []string
	procedure, unit         string
	min, max                string
	budget                  string
	trial, first, sum       string
	exceed, width, interval string
	warmUp, cpus            string
	json, noLatencies       bool
}

func searchCommand(s streams, args []string) *cobra.Command {
	f := &searchFlags{}
	kind := kindAsked(args, "datagram")
	c := &cobra.Command{
		Use: "search HOST", Short: "Find the highest rate to a `windtunnel recv` at an acceptable loss",
		Long: "Find the highest rate to a `windtunnel recv` at an acceptable loss, several losses at once, with its uncertainty,\n" +
			"and the latency at 10, 50 and 90 % of it. The procedure is MLRsearch, or the binary search of RFC 2544 or TST009.\n\n" +
			"Which options there are depends on the kind: see `windtunnel search --kind frame --help`.",
		Example: "  windtunnel search 10.0.0.2\n" +
			"  windtunnel search 10.0.0.2 --loss 0.5% --message 1400B --max 10Gbit/s\n" +
			"  windtunnel search 10.0.0.2 --kind frame --size 64B --loss 0,0.1%,0.5%\n" +
			"  windtunnel search 10.0.0.2 --procedure rfc2544 --budget 20min --json",
		Args: takes("HOST"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args[0]) },
	}
	addKind(c, &f.kind, "datagram", []string{"datagram", "frame"})
	f.load.add(c, kindOptions(kind))
	f.add(c)
	c.Flags().SortFlags = false
	_, err := oneoff.KindByName(kind)
	c.FParseErrWhitelist.UnknownFlags = err != nil // the kind is what to complain of
	return c
}

// add makes the flags that are the same for every kind.
func (f *searchFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.losses, "loss", nil, "what may be lost (default 0,0.5%; of rfc2544 and tst009 0)")
	flags.StringVar(&f.procedure, "procedure", result.MethodMLR, strings.Join(search.Methods(), ", "))
	flags.StringVar(&f.unit, "unit", "", "bit/s or packets/s (default the kind's first)")
	flags.StringVar(&f.min, "min", "", "the smallest load: 10Mbit/s or 10k/s (default a ten-thousandth of the largest)")
	flags.StringVar(&f.max, "max", "", "the largest load (default what the generator reaches)")
	flags.StringVar(&f.budget, "budget", "", "the time for all trials (default 60s for mlrsearch, none for the others)")
	flags.StringVar(&f.trial, "trial", "", "the final trials' length (default 500ms; of rfc2544 and tst009 60s)")
	flags.StringVar(&f.first, "first-trial", "", "the first trials' length (default 250ms at most; of rfc2544 and tst009 the same as the final ones')")
	flags.StringVar(&f.sum, "duration-sum", "", "time at one load that decides about it (default 6 trials; of rfc2544 1, of tst009 2)")
	flags.StringVar(&f.exceed, "exceed", "", "the share of it in which more may be lost (default 50%; of rfc2544 0)")
	flags.StringVar(&f.width, "width", "", "how far apart the bounds may be (default 0.5%)")
	flags.StringVar(&f.interval, "widest", "", "how wide the interval of a rate in noise may be, 0.2% at least (default 2%; not of rfc2544 and tst009)")
	flags.IntVar(&f.port, "port", oneoff.DefaultPort, "the receiver's port")
	flags.StringVar(&f.warmUp, "warmup", "200ms", "traffic before each trial that is not counted")
	flags.StringVar(&f.cpus, "cpus", "", "pin the hot threads to these CPUs, in turn (0,1)")
	flags.BoolVar(&f.noLatencies, "no-latency", false, "do not measure latency at 10, 50 and 90 % of what was found")
	flags.BoolVar(&f.json, "json", false, "one JSON object with everything")
}

func (f *searchFlags) run(ctx context.Context, s streams, host string) error {
	config, err := f.config(host)
	if err == nil {
		config, err = config.Check()
	}
	if err != nil {
		return refused(err)
	}
	found, err := oneoff.Search(ctx, config, oneoff.SearchShow{
		Say:   func(line string) { fmt.Fprintln(s.err, line) },
		Trial: func(unit string, t result.SearchTrial) { fmt.Fprintln(s.err, t.Words(unit)) },
	})
	if len(found.Trials) == 0 {
		return f.noAnswer(ctx, s, host, err)
	}
	write := oneoff.WriteSearch
	if f.json {
		write = oneoff.WriteSearchJSON
	}
	shown := write(s.out, config, found)
	if ctx.Err() != nil {
		err = coded{exitInterrupted, errors.New("interrupted; this is the best answer so far")}
	}
	return unwritten(shown, err)
}

// noAnswer is of a search of which no trial has ended.
func (f *searchFlags) noAnswer(ctx context.Context, s streams, host string, err error) error {
	if ctx.Err() != nil {
		err = coded{exitInterrupted, errors.New("interrupted before any trial had ended")}
	}
	if err == nil {
		err = errors.New("the search ended before any trial had: give it a longer --budget")
	}
	if f.json {
		return unwritten(oneoff.NewJSON(s.out, s.err).Failed(f.kind, host, err), err)
	}
	return ended(err)
}

// config reads the flags.
func (f *searchFlags) config(host string) (oneoff.SearchConfig, error) {
	config := oneoff.SearchConfig{Unit: f.unit, Method: f.procedure, NoLatencies: f.noLatencies,
		SendConfig: oneoff.SendConfig{Host: host, Port: f.port, Kind: f.kind, Load: f.load.given, Release: release,
			Calibrations: calibrations()}}
	if f.port < 1 || f.port > 65535 {
		return config, fmt.Errorf("--port %d is no port", f.port)
	}
	losses := f.losses
	switch {
	case len(losses) == 0 && f.procedure == result.MethodMLR:
		losses = []string{"0", "0.5%"}
	case len(losses) == 0:
		losses = []string{"0"}
	}
	for _, text := range losses {
		loss, err := result.ParseLossRatio(text)
		if err != nil {
			return config, fmt.Errorf("--loss: %w", err)
		}
		goal, err := f.goal(loss)
		if err != nil {
			return config, err
		}
		config.Goals = append(config.Goals, goal)
	}
	if f.budget == "" && f.procedure == result.MethodMLR {
		f.budget = "60s"
	}
	if f.cpus != "" {
		cpus, err := parseCPUs(f.cpus)
		if err != nil {
			return config, err
		}
		config.CPUs = cpus
	}
	return config, errors.Join(
		given(f.budget, "budget", &config.Budget, result.ParseDuration), given(f.warmUp, "warmup", &config.WarmUp, result.ParseDuration),
		given(f.min, "min", &config.Min, f.rate), given(f.max, "max", &config.Max, f.rate))
}

// goal is the procedure's for a loss, with what was changed of it.
func (f *searchFlags) goal(loss float64) (result.SearchGoal, error) {
	g := search.GoalOf(f.procedure, loss)
	if f.trial != "" {
		length, err := result.ParseDuration(f.trial)
		if err != nil {
			return g, fmt.Errorf("--trial: %w", err)
		}
		g = search.Lengthened(g, length.Seconds())
	}
	err := errors.Join(given(f.first, "first-trial", &g.InitialTrialSeconds, result.ParseSeconds),
		given(f.sum, "duration-sum", &g.DurationSumSeconds, result.ParseSeconds),
		given(f.exceed, "exceed", &g.ExceedRatio, result.ParseLossRatio), given(f.width, "width", &g.Width, result.ParseLossRatio),
		given(f.interval, "widest", &g.LargestIntervalPercent, result.ParsePercent))
	return g, err
}

// rate reads a load: bits or packets by the second, as the unit says.
func (f *searchFlags) rate(text string) (float64, error) {
	if f.unit == result.BitsPerSecond || f.unit == "" && f.kind == "datagram" {
		return result.ParseBitRate(text)
	}
	return result.ParsePacketRate(text)
}

// given reads a flag that was given.
func given[V any](text, flag string, into *V, parse func(string) (V, error)) error {
	if text == "" {
		return nil
	}
	v, err := parse(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	*into = v
	return nil
}
