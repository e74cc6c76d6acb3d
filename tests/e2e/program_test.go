//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// bin is where `make build` puts the programs.
var bin, _ = filepath.Abs("../../bin")

func needsRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it builds network namespaces")
	}
}

// besideOthers lets a test run side by side with others: one that measures nothing, so that it may have to
// wait for a CPU, and looks at nothing of the host's. Go runs those after all tests that want the machine
// for themselves (testing.T.Parallel).
func besideOthers(t interface{ Parallel() }) { t.Parallel() }

// outcome is what a run of the program came to.
type outcome struct {
	code     int
	out, err string
	took     time.Duration
}

// windtunnel runs the program and waits for it.
func windtunnel(t testing.TB, limit time.Duration, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "windtunnel"), args...)
	cmd.Dir = t.TempDir()
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	o := outcome{out: out.String(), err: errs.String(), took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Fatalf("windtunnel %v did not end within %s\n%s%s", args, limit, o.out, o.err)
	case errors.As(err, &exit):
		o.code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return o
}

// report is the JSON object that other programs rely on, as far as tests look.
type report struct {
	Suite string
	Cells map[string]struct {
		Status   string
		Reason   string
		Trials   int
		Received figure `json:"received_bits_per_second"`
		Queueing *result.Queueing
		Wire     figure `json:"wire_bytes_per_packet"`
		Endpoint figure `json:"endpoint_bytes_per_packet"`
		Layers   map[string]struct {
			Reason   string
			Coverage figure `json:"sum_percent_of_measured"`
			Layers   map[string]struct{ Percent figure }
		}
	}
	Ratios map[string]struct {
		Estimate  *float64
		Low, High *float64
		N         int
	}
	Hypotheses []struct{ ID, Verdict string }
}

type figure struct {
	Mean   *float64
	Reason string
}

func parsed(t testing.TB, o outcome) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("not a report (%v), exit code %d:\n%s\n%s", err, o.code, o.out, o.err)
	}
	return r
}

// process is a running process of ours.
type process struct {
	pid  int
	args []string
}

// processes lists the running programs from bin, and machines that run a kernel from there.
func processes() []process {
	var all []process
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		ours := strings.HasPrefix(args[0], bin) || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, bin+"/guest/") })
		if err != nil || !ours {
			continue
		}
		all = append(all, process{pid: pid, args: args})
	}
	return all
}

// find returns the ids of the processes whose command line has all the words.
func find(words ...string) []int {
	var pids []int
	for _, p := range processes() {
		line := strings.Join(p.args, " ")
		has := true
		for _, word := range words {
			has = has && strings.Contains(line, word)
		}
		if has {
			pids = append(pids, p.pid)
		}
	}
	return pids
}
