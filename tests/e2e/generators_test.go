//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// generatorsReport is what is read of a report here.
type generatorsReport struct {
	Cells map[string]struct {
		Status, Reason string
		Received       struct{ Mean *float64 } `json:"received_bits_per_second"`
		Congestion     *string
		Generators     []struct{ Name, Version, Command, End string }
	}
}

// TestForeignGenerators measures by each program that is installed: every cell has figures
// of both ends, and says what was run.
func TestForeignGenerators(t *testing.T) { measured(t, testForeignGenerators) }

func testForeignGenerators(t *attempt) {
	needsRoot(t)
	before := hostAtRest(t)
	programs := map[string]string{"tcp-nuttcp": "nuttcp", "udp-iperf3": "iperf3", "ask-sockperf": "sockperf"}
	o := windtunnel(t, time.Minute, "run", "generators", "--cells", "tcp-nuttcp,udp-iperf3,ask-sockperf", "--window", "1s", "--budget", "16s", "--json")
	var r generatorsReport
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("%v, exit code %d\n%s", err, o.code, o.err)
	}
	for name, program := range programs {
		cell := r.Cells[name]
		if _, err := exec.LookPath(program); err != nil {
			if cell.Status != "skipped" || !strings.Contains(cell.Reason, "needs the program "+program) {
				t.Errorf("%s without %s is %s: %s", name, program, cell.Status, cell.Reason)
			}
			continue
		}
		if cell.Status != "measured" || cell.Received.Mean == nil || *cell.Received.Mean < 1e5 {
			t.Errorf("%s: %+v\n%s", name, cell, o.err)
			continue
		}
		if len(cell.Generators) != 2 || cell.Generators[0].Name != program || cell.Generators[0].Version == "" || !strings.Contains(cell.Generators[0].Command, "172.16.0.12") {
			t.Errorf("%s by %+v", name, cell.Generators)
		}
		if tcp := program != "iperf3"; tcp && (cell.Congestion == nil || *cell.Congestion != "cubic") {
			t.Errorf("%s: the congestion control is not the suite's", name)
		}
	}
	mustBeAsBefore(t, before)
}

// inTestbed is the command line of an iperf3 that a run has started.
var inTestbed = regexp.MustCompile(`^iperf3 -(c 172\.16\.0\.12|s -1) .*-i 0\.1 .*-J`)

// runningIperf3 are those.
func runningIperf3() []string {
	var all []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		line := strings.ReplaceAll(strings.TrimRight(string(text), "\x00"), "\x00", " ")
		_, program, _ := strings.Cut(line, "/bin/") // it is started by its full path
		if inTestbed.MatchString(line) || inTestbed.MatchString(program) {
			all = append(all, filepath.Base(filepath.Dir(file))+" "+line)
		}
	}
	return all
}

// TestNoGeneratorIsLeft kills each kind of process while iperf3 sends.
func TestNoGeneratorIsLeft(t *testing.T) {
	needsRoot(t)
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("not measured here: needs iperf3: apt-get install iperf3")
	}
	for _, victim := range []string{"bin/windtunnel run generators", "bin/windtunnel agent --worker", "bin/windtunnel agent --node"} {
		t.Run(victim, func(t *testing.T) {
			before := hostAtRest(t)
			cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", "generators", "--cells", "tcp-iperf3", "--window", "1s", "--budget", "6s",
				"--out", filepath.Join(t.TempDir(), "run"))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			awaitIperf3(t, true, ended)
			if !hitAfter([]string{victim}, syscall.SIGKILL, 0, ended) {
				t.Error("nothing was there to be killed")
			}
			select {
			case <-ended:
			case <-time.After(budget + grace):
				_ = cmd.Process.Kill()
				t.Error("the run did not end")
			}
			waitForNone(t)
			awaitIperf3(t, false, nil)
			clean(t)
			mustBeAsBefore(t, before)
		})
	}
}

// awaitIperf3 waits until one is there, or none.
func awaitIperf3(t testing.TB, there bool, ended chan struct{}) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		running := runningIperf3()
		if (len(running) > 0) == there {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("running: %v", running)
		case <-ended:
			t.Fatal("the run ended before iperf3 ran")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
