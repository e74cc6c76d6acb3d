package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// errDisturbed is of a trial in which others had a CPU that a program needed: its figures are theirs as well, and with
// little of the CPU left no frame comes through.
var errDisturbed = errors.New("others had the CPUs")

const (
	// mostWaited is how much of a window a program may have waited for its CPU.
	mostWaited = 0.1
	// turnTries is how often a trial is made until it is left alone.
	turnTries = 5
)

// waited is for how long the threads of processes could run and had no CPU, all together
// (Documentation/scheduler/sched-stats.rst). What has ended is told of by others.
func waited(proc string, pids []int) (sum time.Duration) {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("%s/%d/task/*/schedstat", proc, pid)) // the pattern is good
		for _, file := range files {
			text, _ := os.ReadFile(file)
			if fields := strings.Fields(string(text)); len(fields) >= 2 {
				ns, _ := strconv.ParseInt(fields[1], 10, 64)
				sum += time.Duration(ns)
			}
		}
	}
	return sum
}

// undisturbed tries until nobody else had the CPUs, and gives a trial up that never was.
func undisturbed(trial func() (sample, error)) (s sample, err error) {
	for range turnTries {
		if s, err = trial(); !errors.Is(err, errDisturbed) {
			return s, err
		}
	}
	return s, fmt.Errorf("in each of %d trials %w", turnTries, err)
}

// disturbance is an error if a program waited for more of the window than a trial may have.
func disturbance(window time.Duration, programs map[string]time.Duration) error {
	for name, wait := range programs {
		if share := wait.Seconds() / window.Seconds(); share > mostWaited {
			return fmt.Errorf("%w: %s waited for its own %.0f %% of the window", errDisturbed, name, 100*share)
		}
	}
	return nil
}
