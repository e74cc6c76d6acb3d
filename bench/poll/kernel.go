package main

import (
	"context"
	"io"
	"path/filepath"

	"windtunnel/bench"
	"windtunnel/result"
)

const (
	kernelSuite = "bench/poll/kernel.yaml"
	kernelName  = "kernel" // for -only
)

// againstKernel compares poll mode with kernel mode, each vRouter alone, in the blocks of a suite: the bench's own
// sender has no way to a network interface.
func againstKernel(ctx context.Context, s settings, stderr io.Writer) (rows []*bench.Comparison, err error) {
	if s.leavesOut(kernelName) != "" {
		return nil, nil
	}
	run := bench.Suite{Program: filepath.Join(s.bin, "windtunnel"), Suite: kernelSuite, Cells: []string{"poll", "tc", "xdp"}, Budget: s.kernel}
	t, err := run.Run(ctx, stderr)
	if err != nil {
		return nil, err
	}
	for _, r := range []struct{ under, says string }{{"tc", "the kernel's at tc"}, {"xdp", "the kernel's at XDP"}} {
		for _, m := range []struct {
			metric result.Metric
			says   string
		}{{result.PacketsPerBusyCore, "packets per busy second, "}, {result.ReceivedPacketRate, "beside it, packets per second, "}} {
			c := &bench.Comparison{What: m.says + "poll mode, MPLSoUDP / " + r.says}
			t.Pair(c, "poll", r.under, m.metric)
			rows = append(rows, c)
		}
	}
	return rows, nil
}
