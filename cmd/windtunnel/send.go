package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"windtunnel/oneoff"
	"windtunnel/result"
	"windtunnel/traffic"
)

// sendFlags are what send, ping and frames take beside their kind's options.
type sendFlags struct {
	load          loadFlags
	kind          string
	port          int
	time          string
	warmUp        string
	interval      string
	cpus          string
	json          bool
	dontCalibrate bool
}

func sendCommand(s streams, args []string) *cobra.Command {
	f := &sendFlags{}
	kind := kindAsked(args, "stream")
	c := f.command(s, kind, "send HOST", "Send traffic to a `windtunnel recv` and show what both ends saw",
		"Which options there are depends on the kind: see `windtunnel send --kind datagram --help`.",
		"  windtunnel send 10.0.0.2\n"+
			"  windtunnel send 10.0.0.2 --streams 4 --threads 2 --time 30s\n"+
			"  windtunnel send 10.0.0.2 --kind datagram --rate 2Gbit/s --message 1400B\n"+
			"  windtunnel send 10.0.0.2 --json --interval 0s | jq .pair.receiver.bytes")
	_, err := oneoff.KindByName(kind)
	c.FParseErrWhitelist.UnknownFlags = err != nil // the kind is what to complain of
	return c
}

func pingCommand(s streams) *cobra.Command {
	f := &sendFlags{kind: "ping"}
	return f.command(s, "ping", "ping HOST", "Measure latency to a `windtunnel recv` by requests and responses",
		"Latencies are counted from the time that a request was meant to leave, and beside it from\n"+
			"the time it left: a path that stalls shows in the first, whatever waited for it.",
		"  windtunnel ping 10.0.0.2\n  windtunnel ping 10.0.0.2 --rate 1000/s --time 30s")
}

func framesCommand(s streams) *cobra.Command {
	f := &sendFlags{kind: "frame"}
	return f.command(s, "frame", "frames HOST", "Send raw Ethernet frames to a `windtunnel recv` and count them there (root, at both ends)",
		"A frame's size counts its FCS, as the field does; the result says where frames were counted.",
		"  windtunnel frames 10.0.0.2\n  windtunnel frames 10.0.0.2 --size 1518B --flows 1000")
}

// command is one of them.
func (f *sendFlags) command(s streams, kind, use, short, long, example string) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: short + ".\n\n" + long, Example: example, Args: takes("HOST"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args[0]) },
	}
	if f.kind == "" {
		addKind(c, &f.kind, "stream", oneoff.Kinds())
	}
	f.load.add(c, kindOptions(kind))
	c.Flags().IntVar(&f.port, "port", oneoff.DefaultPort, "the receiver's port")
	c.Flags().StringVar(&f.time, "time", "10s", "the measurement's length")
	c.Flags().StringVar(&f.warmUp, "warmup", "1s", "traffic before it that is not counted")
	c.Flags().StringVar(&f.interval, "interval", "1s", "a line each; 0s: none")
	c.Flags().StringVar(&f.cpus, "cpus", "", "pin the hot threads to these CPUs, in turn (0,1)")
	c.Flags().BoolVar(&f.json, "json", false, "one JSON object for each interval and a last one with everything")
	c.Flags().BoolVar(&f.dontCalibrate, "no-calibrate", false, "do not measure, once, what this machine's generator reaches without a path")
	c.Flags().SortFlags = false
	return c
}

// printer shows a measurement.
type printer interface {
	Say(string)
	Interval(oneoff.Paired)
	Outcome(oneoff.Outcome, error) error
	Failed(kind, host string, failure error) error // in place of an outcome, where nothing was counted
}

func (f *sendFlags) run(ctx context.Context, s streams, host string) error {
	config, err := f.config(host)
	if err == nil {
		config, err = config.Check()
	}
	if err != nil {
		return refused(err)
	}
	text := oneoff.NewText(s.out, s.err, screen(s.err), config.Load)
	text.Every(config.Interval)
	var p printer = text
	if f.json {
		p = oneoff.NewJSON(s.out, s.err)
	}
	outcome, err := oneoff.Send(ctx, config, oneoff.Show{Say: p.Say, Interval: p.Interval})
	if !outcome.Usable() && ctx.Err() != nil {
		err = coded{exitInterrupted, errors.New("interrupted before anything was counted")}
	}
	var shown error
	if outcome.Usable() {
		shown = p.Outcome(outcome, err)
	} else {
		shown = p.Failed(config.Kind, host, err)
	}
	if outcome.Usable() && ctx.Err() != nil {
		err = coded{exitInterrupted, errors.New("interrupted; this is what there is")}
	}
	return unwritten(shown, err)
}

// unwritten is how a command ends that failed or not, and whose result could be written or not. One that was interrupted was so all the same:
// the terminal that is gone takes no more.
func unwritten(shown, err error) error {
	var c coded
	switch {
	case shown == nil:
		return ended(err)
	case errors.As(err, &c):
		return coded{c.code, errors.Join(shown, err)}
	}
	return failed(errors.Join(shown, err))
}

// config reads the flags.
func (f *sendFlags) config(host string) (oneoff.SendConfig, error) {
	config := oneoff.SendConfig{Host: host, Port: f.port, Kind: f.kind, Load: f.load.given, Release: release}
	if f.port < 1 || f.port > 65535 {
		return config, fmt.Errorf("--port %d is no port", f.port)
	}
	for _, one := range []struct {
		flag, text string
		into       *time.Duration
	}{{"time", f.time, &config.Window}, {"warmup", f.warmUp, &config.WarmUp}, {"interval", f.interval, &config.Interval}} {
		length, err := result.ParseDuration(one.text)
		if err != nil {
			return config, fmt.Errorf("--%s: %w", one.flag, err)
		}
		*one.into = length
	}
	if !f.dontCalibrate {
		config.Calibrations = calibrations()
	}
	if f.cpus == "" {
		return config, nil
	}
	var err error
	config.CPUs, err = parseCPUs(f.cpus)
	return config, err
}

// calibrations are this machine's: root's are kept for all its runs, anybody else's with their own cached things, where they have
// a place for those.
func calibrations() traffic.Calibrations {
	const name = "calibrations.json"
	if os.Geteuid() == 0 {
		return traffic.Calibrations{Path: filepath.Join("/var/cache/windtunnel", name)}
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return traffic.Unkept(err)
	}
	return traffic.Calibrations{Path: filepath.Join(dir, "windtunnel", name)}
}
