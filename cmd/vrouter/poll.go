package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/poll"
)

// pollProgram is the process of the poll mode, beside this program or in the PATH.
const pollProgram = "vrouter-poll"

type pollFlags struct {
	mode, program string
	memory        string
	cpus          []int
	pause         time.Duration
	patience      time.Duration
	handOver      bool
}

func (f *pollFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.mode, "mode", control.ModeKernel, "what forwards: kernel (eBPF) or poll (DPDK)")
	c.Flags().IntSliceVar(&f.cpus, "poll-cpu", nil, "poll mode: the CPU that forwards, or several (2,3); the last one without")
	c.Flags().DurationVar(&f.pause, "poll-pause", 0, "poll mode: how long such a CPU sleeps at a time while there are no packets (such as 50us); it never does without")
	c.Flags().DurationVar(&f.patience, "poll-patience", 0, "poll mode: how long there have to be no packets before it sleeps for the first time; a thousand rounds, some microseconds, without")
	c.Flags().BoolVar(&f.handOver, "poll-hand-over", false, "poll mode: what a CPU reads at a port that has fewer queues than there are CPUs (a VM's has one) is forwarded by all of them, a flow by one; it takes more cycles for a packet, so only where one CPU cannot forward what one port brings")
	c.Flags().StringVar(&f.memory, "poll-memory", string(poll.MemoryOrdinary), "poll mode: pages for packets: ordinary, huge (those that are reserved and free, or it does not start), or auto (huge where there are enough)")
	c.Flags().StringVar(&f.program, "poll-program", "", "poll mode: the path of "+pollProgram)
}

// maxPause keeps a change of the tables, which waits for two rounds, within its limit.
const maxPause = 100 * time.Millisecond

// maxPatience is what vrouter-poll takes.
const maxPatience = time.Second

func (f *pollFlags) check(all runFlags) error {
	switch {
	case f.mode != control.ModeKernel && f.mode != control.ModePoll:
		return fmt.Errorf("there is no mode %q%s", f.mode, config.Nearest(f.mode, []string{control.ModeKernel, control.ModePoll}))
	case f.mode == control.ModeKernel && (len(f.cpus) > 0 || f.pause != 0 || f.patience != 0 || f.handOver || f.program != ""):
		return errors.New("--poll-cpu, --poll-pause, --poll-patience, --poll-hand-over and --poll-program are for --mode poll")
	case f.mode == control.ModeKernel && f.memory != string(poll.MemoryOrdinary):
		return errors.New("--poll-memory is for --mode poll")
	case f.mode == control.ModeKernel:
		return nil
	case !slices.Contains(poll.Memories, f.memory):
		return fmt.Errorf("there is no memory %q%s", f.memory, config.Nearest(f.memory, poll.Memories))
	case !all.lease:
		return errors.New("poll mode keeps nothing when it ends; add --lease")
	case all.clsact:
		return errors.New("--clsact is for the kernel mode")
	case f.handOver && len(f.cpus) < 2:
		return errors.New("--poll-hand-over has several CPUs forward what one of them reads: name them by --poll-cpu, such as 2,3")
	case f.pause < 0 || f.pause > maxPause:
		return fmt.Errorf("--poll-pause is %v; it is at most %v", f.pause, maxPause)
	case f.patience < 0 || f.patience > maxPatience:
		return fmt.Errorf("--poll-patience is %v; it is at most %v", f.patience, maxPatience)
	case f.patience > 0 && f.pause == 0:
		return errors.New("--poll-patience is how long to wait with --poll-pause, which is not given: without it, no CPU sleeps")
	}
	_, err := poll.ChooseCPUs(f.cpus)
	return err
}

func (f *pollFlags) start(ctx context.Context, c config.Config, stderr io.Writer) (*control.Agent, error) {
	program, err := f.find()
	if err != nil {
		return nil, err
	}
	return control.StartPoll(ctx, c, poll.Options{Program: program, CPUs: f.cpus, Pause: f.pause, Patience: f.patience, HandOver: f.handOver, Memory: poll.Memory(f.memory), Log: stderr})
}

func (f *pollFlags) find() (string, error) {
	if f.program != "" {
		return f.program, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), pollProgram)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(pollProgram)
	if err != nil {
		return "", fmt.Errorf("finding the poll mode's program: %w; `make poll` builds it beside vrouter, or name it by --poll-program", err)
	}
	return path, nil
}
