package agentcost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/ktime"
)

// clocks are how long a process has run, and how long its BPF programs at perf events and tracepoints have.
type clocks struct{ process, samples time.Duration }

func clocksOf(pid int) (c clocks, err error) {
	if c.process, err = ktime.Used(pid); err != nil {
		return c, fmt.Errorf("reading the clock of process %d: %w", pid, err)
	}
	c.samples, err = sampledFor(pid)
	return c, err
}

// Of a BPF program, its file's information has these (bpf_prog_show_fdinfo in kernel/bpf/syscall.c).
var (
	sampling   = regexp.MustCompile(fmt.Sprintf(`(?m)^prog_type:\s+(%d|%d)$`, unix.BPF_PROG_TYPE_PERF_EVENT, unix.BPF_PROG_TYPE_RAW_TRACEPOINT))
	programRan = regexp.MustCompile(`(?m)^run_time_ns:\s+(\d+)$`)
)

func sampledFor(pid int) (all time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !sampling.Match(text) {
			continue // closed meanwhile, or no such program
		}
		found := programRan.FindSubmatch(text)
		if found == nil {
			return 0, errors.New("the kernel does not say how long BPF programs ran")
		}
		nanoseconds, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading how long a BPF program ran: %w", err)
		}
		all += time.Duration(nanoseconds)
	}
	return all, nil
}

var residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

func resident(pid int) (bytes int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the agent's memory: %w", err)
	}
	found := residentLine.FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the kernel says nothing of the agent's memory")
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kib << 10, err
}
