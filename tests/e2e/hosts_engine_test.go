//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/testbed/docker"
)

// engines starts a Docker engine on each of these hosts, as its owner would, and waits until they answer.
func (b *hostsBed) engines(t testing.TB, hosts ...int) {
	t.Helper()
	for _, host := range hosts {
		b.startEngine(t, host)
	}
	for _, host := range hosts {
		b.awaitEngine(t, host, "docker.sock")
	}
}

// awaitEngine waits until one answers at a socket below a host's /run.
func (b *hostsBed) awaitEngine(t testing.TB, host int, socket string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ; ; time.Sleep(10 * time.Millisecond) {
		_, _, err := docker.Dial(ctx, fmt.Sprintf("/proc/%d/root/run/%s", b.hosts[host].pid, socket))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the engine of h%d: %v", host+1, err)
		}
	}
}

func (b *hostsBed) startEngine(t testing.TB, host int) {
	t.Helper()
	group := fmt.Sprintf("%se2e-%d-h%d", docker.CgroupPrefix, os.Getpid(), host+1)
	// Mounts of its own, so that those of its containers are no change of the host's, and nothing is written to /etc.
	const start = `set -e
		mount --make-rprivate /
		mkdir -p /run/e /run/w
		mount -t overlay -o lowerdir=/etc,upperdir=/run/e,workdir=/run/w overlay /etc
		exec dockerd --data-root "$1" --cgroup-parent "$2" --exec-opt native.cgroupdriver=cgroupfs >"$1.log" 2>&1`
	data := filepath.Join(b.dir, fmt.Sprintf("engine%d", host+1))
	cmd := exec.Command("nsenter", "-t", fmt.Sprint(b.hosts[host].pid), "-n", "-m", "-p", "unshare", "-m", "sh", "-c", start, "sh", data, group)
	ended := startBound(t, cmd)
	t.Cleanup(func() {
		if said, err := os.ReadFile(data + ".log"); err == nil && t.Failed() {
			t.Logf("the engine of h%d said:\n%s", host+1, said[max(0, len(said)-4000):])
		}
		_ = b.hosts[host].cmd.Process.Kill() // and all that is on it
		<-ended
		if _, err := docker.RemoveCgroups(group); err != nil {
			t.Error(err)
		}
	})
}

// hostEnginesSuite has each path of containers, in the hosts' own stacks, beside one for which the interface is moved.
const hostEnginesSuite = `
suite: engines-of-hosts
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 1400B}
cells:
  wire: {path: wire, pairs: [{from: a, to: b}]}
  published: {path: published-port, pairs: [{from: a, to: {container: server, on: b}}]}
  rules: {path: {kind: published-port, proxy: off}, pairs: [{from: b, to: {container: server, on: b}}]}
  macvlan: {path: macvlan, traffic: {kind: ping}, pairs: [{from: a, to: {container: server, on: b}}]}
  host: {path: {kind: host-network, cpus: 0.9, memory: 256MiB}, pairs: [{from: a, to: {container: server, on: b}}]}
`

// TestEnginesOfHosts: containers of the hosts' own engines are measured, and are gone after a kill -9 of the agent there. The
// engines, and what else they run, are as before.
func TestEnginesOfHosts(t *testing.T) { measured(t, testEnginesOfHosts) }

func testEnginesOfHosts(t *attempt) {
	needsDocker(t)
	besideOthers(t)
	b := newHosts(t)
	b.engines(t, 0, 1)
	before := b.states(t)
	file, out := filepath.Join(t.TempDir(), "suite.yaml"), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(file, []byte(hostEnginesSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", file, "--nodes", bothHosts, "--budget", "90s", "--window", "300ms", "--out", out)
	cmd.Stdout, cmd.Stderr = &said, &said
	ended := startBound(t, cmd)
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	cells := awaitTrials(t, filepath.Join(out, "run.jsonl"), []string{"wire", "published", "macvlan", "host"}, ended, &said)
	b.on(t, 1, "kill -9 $(pgrep -f '[w]indtunnel agent --node b')")
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		t.Fatalf("the run did not end within 60 s: %s", said.String())
	}
	for name, says := range map[string]string{"published": "docker-proxy -proto tcp", "macvlan": "10.0.0.253/24", "host": "network host"} {
		if cell := cells[name]; !strings.Contains(cell.Engines, says) || cell.Wire != "network" || cell.MTU.Wire != 1400 {
			t.Errorf("%s: no %q in %+v", name, says, cell)
		}
	}
	if why := cells["rules"].Skipped; !strings.Contains(why, "runs with its userland proxy on") {
		t.Errorf("rules: skipped for %q", why)
	}
	b.mustBeAsBefore(t, before)
	for host := range b.hosts {
		if left := b.on(t, host, "docker ps -aq; for what in network image; do docker $what ls -q --filter label="+docker.LeaseLabel+"; done"); left != "" {
			t.Errorf("the engine of h%d still has %s", host+1, left)
		}
	}
	t.Log(said.String())
}

// awaitTrials waits until each of the cells has a trial that counts, and returns all cells.
func awaitTrials(t testing.TB, file string, names []string, ended <-chan struct{}, said *bytes.Buffer) map[string]result.Cell {
	t.Helper()
	for deadline := time.Now().Add(80 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		cells, measured := map[string]result.Cell{}, map[string]bool{}
		text, _ := os.ReadFile(file)
		for line := range bytes.Lines(text) {
			var record struct {
				Record         string
				Cell, Excluded string
			}
			var cell result.Cell
			switch _ = json.Unmarshal(line, &record); {
			case record.Record == result.RecordTrial && record.Excluded == "":
				measured[record.Cell] = true
			case record.Record == result.RecordCell && json.Unmarshal(line, &cell) == nil:
				cells[cell.Name] = cell
			}
		}
		missing := ""
		for _, name := range names {
			if !measured[name] {
				missing += " " + name
			}
		}
		if missing == "" {
			return cells
		}
		over := time.Now().After(deadline)
		select {
		case <-ended:
			over = true
		default:
		}
		if over {
			t.Fatalf("no trial of%s counts:\n%s", missing, said.String())
		}
	}
}
