//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// aThief is a file that says, in place of a host's /proc/stat, that a third of its CPU 0 is stolen from now on.
func aThief(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "stat")
	began := time.Now()
	tell := func() {
		text := fmt.Sprintf("cpu0 1 0 1 1000000 0 0 0 %09d 0 0\ncpu1 1 0 1 1000000 0 0 0 000000007 0 0\n", time.Since(began)/(30*time.Millisecond))
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644) // as long as before, and the same file, for it is mounted
		if err == nil {
			_, err = f.WriteString(text)
			_ = f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	tell()
	tick, end, ended := time.NewTicker(10*time.Millisecond), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				tell()
			}
		}
	}()
	t.Cleanup(func() { tick.Stop(); close(end); <-ended })
	return file
}

// TestStolenHostsAreDoubted: what a hypervisor takes of the receiver's host is said by its sender, and a search finds no rate in it.
func TestStolenHostsAreDoubted(t *testing.T) {
	needsRoot(t)
	bed, program := direct(t), filepath.Join(bin, "windtunnel")
	recv := bed.to.start(t, "unshare", "-m", "sh", "-c", fmt.Sprintf("mount --bind %s /proc/stat && exec %s recv --json --only native", aThief(t), program))
	if line := recv.line(); !strings.Contains(line, `"what":"listening"`) {
		t.Fatalf("the receiver says %s", line)
	}
	out, code := bed.from.windtunnel(t, "send", "10.0.0.2", "--rate", "10Mbit/s", "--time", "1s", "--warmup", "200ms", "--no-calibrate").wait()
	if code != 0 || !strings.Contains(out, "% of the receiver's CPU 0 was stolen by the hypervisor") {
		t.Errorf("exit code %d, and no doubt:\n%s", code, out)
	}
	p := bed.from.windtunnel(t, "search", "10.0.0.2", "--max", "10Mbit/s", "--no-latency", "--budget", "20s")
	if out, code := p.wait(); code == 0 || !strings.Contains(out+p.errs.String(), "trials did not count; the last: 3") {
		t.Errorf("a search ended with %d:\n%s%s", code, out, p.errs.String())
	}
}
