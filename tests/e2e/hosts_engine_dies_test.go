//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/testbed/docker"
)

// needsHostsSoak leaves a test to `make soak`.
func needsHostsSoak(t testing.TB) {
	t.Helper()
	if os.Getenv("HOSTS_SOAK") == "" {
		t.Skip("not measured here: it takes most of a minute, and is a part of `make soak` (HOSTS_SOAK=1)")
	}
}

// hostsRun starts a run of cells over both hosts, whose engines have these sockets.
func (b *hostsBed) hostsRun(t testing.TB, out, nodes, budget, cells string) (said *bytes.Buffer, ended <-chan struct{}) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "suite.yaml")
	if err := os.WriteFile(file, []byte("suite: hosts\nnodes: {a: {}, b: {}}\ntraffic: {kind: stream, message: 1400B}\ncells:\n"+cells), 0o600); err != nil {
		t.Fatal(err)
	}
	said = &bytes.Buffer{}
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", file, "--nodes", nodes, "--budget", budget, "--window", "300ms", "--out", out)
	cmd.Stdout, cmd.Stderr = said, said
	ended = startBound(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return said, ended
}

// ofRuns is what an engine of a host has of runs.
func (b *hostsBed) ofRuns(t testing.TB, host int, client string) string {
	t.Helper()
	return b.on(t, host, fmt.Sprintf("%s ps -aq --filter label=%s; for what in network image; do %s $what ls -q --filter label=%s; done",
		client, docker.LeaseLabel, client, docker.LeaseLabel))
}

// TestAHostsEngineDies while its containers are measured: the other cells go on, it is said what is left there, and clean takes
// that away once the engine runs again.
func TestAHostsEngineDies(t *testing.T) { measured(t, testAHostsEngineDies) }

func testAHostsEngineDies(t *attempt) {
	needsDocker(t)
	needsHostsSoak(t)
	b := newHosts(t)
	b.engines(t, 1)
	out := filepath.Join(t.TempDir(), "run")
	said, ended := b.hostsRun(t, out, bothHosts, "30s", `  w: {path: wire, pairs: [{from: a, to: b}]}
  p: {path: published-port, pairs: [{from: a, to: {container: server, on: b}}]}
`)
	awaitTrials(t, filepath.Join(out, "run.jsonl"), []string{"w", "p"}, ended, said)
	b.on(t, 1, "kill -9 $(pgrep -f '[d]ockerd --data-root')")
	select {
	case <-ended:
	case <-time.After(90 * time.Second):
		t.Fatalf("it does not end: %s", said)
	}
	for _, want := range []string{"the engine at /var/run/docker.sock", "docker rm -f $(docker ps -aq --filter label=" + docker.LeaseLabel} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q is said", want)
		}
	}
	if text := b.on(t, 1, "ip -br address show data"); !strings.Contains(text, "10.0.0.2/24") {
		t.Errorf("the interface is %s", text)
	}
	b.engines(t, 1)
	t.Log(b.on(t, 1, filepath.Join(bin, "windtunnel")+" clean"))
	if left := b.ofRuns(t, 1, "docker"); left != "" {
		t.Errorf("the engine still has %s", left)
	}
	t.Log(said)
}

// TestPodmanOfHosts has the paths of containers run by it.
func TestPodmanOfHosts(t *testing.T) { measured(t, testPodmanOfHosts) }

func testPodmanOfHosts(t *attempt) {
	needsHostsSoak(t)
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("not measured here: needs podman: apt-get install podman")
	}
	b := newHosts(t)
	for h := range b.hosts {
		b.podman(t, h)
	}
	nodes := strings.ReplaceAll(bothHosts, "?data", "?engine=/run/podman/podman.sock&data")
	measure := func(budget, cells string, names ...string) *bytes.Buffer {
		out := filepath.Join(t.TempDir(), "run")
		said, ended := b.hostsRun(t, out, nodes, budget, cells)
		awaitTrials(t, filepath.Join(out, "run.jsonl"), names, ended, said)
		select {
		case <-ended:
		case <-time.After(120 * time.Second):
			t.Fatalf("it does not end: %s", said)
		}
		return said
	}
	// Podman makes its bridge for the first container of a host, and keeps it.
	measure("20s", `  p: {path: published-port, pairs: [{from: a, to: {container: server, on: b}}]}
  q: {path: published-port, pairs: [{from: b, to: {container: server, on: a}}]}
`, "p", "q")
	before := b.states(t)
	said := measure("60s", `  p: {path: published-port, pairs: [{from: a, to: {container: server, on: b}}]}
  u: {path: {kind: published-port, network: user, proxy: off}, pairs: [{from: b, to: {container: server, on: b}}]}
  m: {path: macvlan, pairs: [{from: a, to: {container: server, on: b}}]}
  h: {path: host-network, pairs: [{from: {container: c, on: a}, to: {container: server, on: b}}]}
`, "p", "u", "m", "h")
	b.mustBeAsBefore(t, before)
	for h := range b.hosts {
		if left := b.ofRuns(t, h, "podman --url unix:///run/podman/podman.sock"); left != "" {
			t.Errorf("the engine of h%d still has %s", h+1, left)
		}
	}
	t.Log(said)
}

// podman starts a service of it on a host, as its owner would, and waits until it answers.
func (b *hostsBed) podman(t testing.TB, host int) {
	t.Helper()
	data, err := os.MkdirTemp("/tmp", "wt-podman") // it takes no runroot of more than 50 characters
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	cmd := exec.Command("nsenter", "-t", fmt.Sprint(b.hosts[host].pid), "-n", "-m", "-p", "unshare", "-m", "sh", "-c", `set -e
		mount --make-rprivate /
		mkdir -p /run/e /run/w /run/podman
		mount -t overlay -o lowerdir=/etc,upperdir=/run/e,workdir=/run/w overlay /etc
		exec podman --root "$1/root" --runroot "$1/runroot" --cgroup-manager cgroupfs system service --time 0 unix:///run/podman/podman.sock >"$1.log" 2>&1`, "sh", data)
	ended := startBound(t, cmd)
	t.Cleanup(func() {
		if said, err := os.ReadFile(data + ".log"); err == nil && t.Failed() {
			t.Logf("podman of h%d said:\n%s", host+1, said[max(0, len(said)-4000):])
		}
		_ = b.hosts[host].cmd.Process.Kill()
		<-ended
	})
	b.awaitEngine(t, host, "podman/podman.sock")
}
