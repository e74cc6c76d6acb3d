//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// switched puts a bridge into a third namespace, between two places, and returns the third's name.
func switched(t testing.TB) string {
	t.Helper()
	needsRoot(t)
	middle := fmt.Sprintf("wt-%d-mid", os.Getpid())
	remove := func() {
		for _, name := range []string{existingRed, existingBlue, middle} {
			_ = exec.Command("ip", "netns", "delete", name).Run()
		}
	}
	remove()
	t.Cleanup(remove)
	for _, name := range []string{existingRed, existingBlue, middle} {
		mustRun(t, "ip", "netns", "add", name)
	}
	mustRun(t, "ip", "-n", middle, "link", "add", "br0", "up", "type", "bridge")
	for name, end := range map[string][3]string{existingRed: {"red0", "10.78.0.1/24", "to-red"}, existingBlue: {"blue0", "10.78.0.2/24", "to-blue"}} {
		mustRun(t, "ip", "link", "add", end[0], "netns", name, "type", "veth", "peer", end[2], "netns", middle)
		mustRun(t, "ip", "-n", name, "address", "add", end[1], "dev", end[0])
		mustRun(t, "ip", "-n", name, "link", "set", end[0], "up")
		mustRun(t, "ip", "-n", middle, "link", "set", end[2], "up", "master", "br0")
	}
	mustRun(t, "ip", "netns", "exec", middle, "tc", "qdisc", "add", "dev", "to-red", "clsact")
	// Classic BPF: one instruction, which lets everything pass.
	mustRun(t, "ip", "netns", "exec", middle, "tc", "filter", "add", "dev", "to-red", "ingress", "bpf", "da", "bytecode", "1,6 0 0 4294967295,")
	return middle
}

// TestBetweenPlaces draws what lies between two places, where the program itself stands in the middle, and measures it.
func TestBetweenPlaces(t *testing.T) { measured(t, testBetweenPlaces) }

func testBetweenPlaces(t *attempt) {
	middle := switched(t)
	in := func(args ...string) outcome {
		t.Helper()
		dir := t.TempDir()
		cmd := exec.Command("ip", append([]string{"netns", "exec", middle, filepath.Join(bin, "windtunnel")}, args...)...)
		cmd.Dir = dir
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, errs.String())
		}
		return outcome{out: string(out), err: errs.String()}
	}
	places := []string{"between", "netns:" + existingRed, "exec:nsenter --net=/run/netns/" + existingBlue}
	drawn := in(append(places, "--look")...).out
	if !regexp.MustCompile(`(?s)PLACE .*red0 .*10\.78\.0\.1/24.*THIS HOST\n.*to-red .*BPF: tc ingress.*br0 +bridge.*to-blue .*PLACE .*blue0 .*10\.78\.0\.2/24`).MatchString(drawn) {
		t.Errorf("it draws\n%s", drawn)
	}
	r := parsed(t, in(append(places, "--budget", "20s", "--window", "250ms", "--json")...))
	for _, cell := range []string{"stream", "stream-back", "ping"} {
		if c := r.Cells[cell]; c.Status != "measured" {
			t.Errorf("%s: %+v", cell, c)
		}
	}
	waitForPlacesLeft(t)
}

// TestBetweenPlacesOverATunnel draws the tunnel, what carries it, and the MTUs of both, from one stack to the other.
func TestBetweenPlacesOverATunnel(t *testing.T) {
	middle := switched(t)
	for name, end := range map[string][4]string{existingRed: {"red0", "10.78.0.1", "10.78.0.2", "10.79.0.1/24"}, existingBlue: {"blue0", "10.78.0.2", "10.78.0.1", "10.79.0.2/24"}} {
		mustRun(t, "ip", "-n", name, "link", "add", "vx0", "mtu", "1450", "type", "vxlan", "id", "42", "dstport", "4789", "local", end[1], "remote", end[2], "dev", end[0])
		mustRun(t, "ip", "-n", name, "address", "add", end[3], "dev", "vx0")
		mustRun(t, "ip", "-n", name, "link", "set", "vx0", "up")
	}
	drawn := mustRun(t, "ip", "netns", "exec", middle, filepath.Join(bin, "windtunnel"), "between", "netns:"+existingRed, "netns:"+existingBlue, "--to-address", "10.79.0.2", "--look")
	if !regexp.MustCompile(`(?s)PLACE .*vx0 +vxlan, VNI 42, UDP port 4789, .*to 10\.78\.0\.2, 10\.79\.0\.1/24, MTU 1450.*red0 +veth.*MTU 1500.*THIS HOST\n.*to-red .*br0 .*to-blue .*PLACE .*blue0 .*vx0 +vxlan, VNI 42`).MatchString(drawn) {
		t.Errorf("it draws\n%s", drawn)
	}
	waitForPlacesLeft(t)
}

// TestBetweenPlacesRefuses what is no place, before anything is entered.
func TestBetweenPlacesRefuses(t *testing.T) {
	o := windtunnel(t, time.Minute, "between", "here", "nowhere")
	if o.code != 2 || !strings.Contains(o.err, "places are here, netns:NAME") {
		t.Errorf("exit code %d\n%s", o.code, o.err)
	}
}

// TestPlacesNeedNoRoot: whoever may enter a place may measure there.
func TestPlacesNeedNoRoot(t *testing.T) {
	needsRoot(t)
	dir, err := os.MkdirTemp("", "wt-nobody") // where nobody may write
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	mustRun(t, "cp", filepath.Join(bin, "windtunnel"), dir)
	mustRun(t, "chown", "-R", "65534:65534", dir)
	cmd := exec.Command(filepath.Join(dir, "windtunnel"), "between", "here", "exec:env", "--budget", "15s", "--window", "100ms", "--json")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	r := parsed(t, outcome{out: string(out)})
	if c := r.Cells["stream"]; c.Status != "measured" {
		t.Errorf("%+v\n%s", c, errs.String())
	}
	waitForPlacesLeft(t)
}
