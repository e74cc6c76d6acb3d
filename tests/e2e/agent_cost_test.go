//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWhatAnAgentCosts while it waits, and while it samples a trial: both by the kernel's own clocks of its
// threads, so that others on the machine do not count.
func TestWhatAnAgentCosts(t *testing.T) {
	needsRoot(t)
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "agent", "--node", "a", "--cpus", "0", "--dir", filepath.Join(t.TempDir(), "lease"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	ask := func(line string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || strings.Contains(lines.Text(), `"error"`) {
			t.Fatalf("%s: %s", line, lines.Text())
		}
	}
	lines.Scan() // the hello
	graph := `"cell":"A","graph":{"cell":"A","nodes":[{"name":"a","cpus":[0]}],"containers":[{"name":"c","node":"a"}],"links":[{"name":"l","role":"endpoint",` +
		`"ends":[{"place":"c","device":"eth0","mtu":1500},{"place":"a","device":"v-c","mtu":1500}]}]}`
	for _, do := range []string{"place", "apply", "verify"} {
		ask(`{"id":1,"do":"` + do + `",` + graph + `}`)
	}
	const seconds = 4
	before := busy(t, cmd.Process.Pid)
	for range seconds {
		time.Sleep(time.Second)
		ask(`{"id":2,"do":"heartbeat"}`)
	}
	waiting := (busy(t, cmd.Process.Pid) - before).Seconds() / seconds
	const window = 2
	before = busy(t, cmd.Process.Pid)
	ask(fmt.Sprintf(`{"id":3,"do":"start","cell":"A","start":{"in_seconds":0.03,"warmup_seconds":0.2,"window_seconds":%d}}`, window))
	opened := busy(t, cmd.Process.Pid) // probes are opened before the warm-up
	ask(`{"id":4,"do":"result","cell":"A"}`)
	sampling := (busy(t, cmd.Process.Pid) - opened).Seconds() / window
	resident := residentBytes(t, cmd.Process.Pid)
	t.Logf("waiting: %.3f %% of a CPU, %.1f MB; a trial of %d s: %s to begin, then %.3f %% of a CPU for sampling",
		100*waiting, float64(resident)/1e6, window, opened-before, 100*sampling)
	if waiting > 0.01 || sampling > 0.005 || resident > 50e6 {
		t.Error("more than 1 % of a CPU or 50 MB while it waits, or 0.5 % for sampling")
	}
}

// busy is the time that a process's threads have run, in Documentation/scheduler/sched-stats.rst.
func busy(t *testing.T, pid int) (all time.Duration) {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		ran, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all += time.Duration(ran)
	}
	if all == 0 {
		t.Skip("this kernel does not say how long threads ran (CONFIG_SCHED_INFO)")
	}
	return all
}

func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
