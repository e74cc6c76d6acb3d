//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/testbed"
	"windtunnel/testbed/docker"
)

func needsDocker(t testing.TB) {
	t.Helper()
	needsRoot(t)
	for _, program := range []string{"dockerd", "containerd", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("not measured here: needs %s: apt-get install docker.io iptables", program)
		}
	}
}

// dockerSuite has every path whose containers are an engine's, and both ways to a published port.
const dockerSuite = `
suite: containers-of-an-engine
asks: Do the paths of containers of an engine carry every kind of traffic?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 1400B}
cells:
  proxy: {path: published-port, pairs: [{from: b, to: {container: server, on: b}}]}
  rules: {path: {kind: published-port, proxy: off, network: user, cpus: 0.9, memory: 512MiB}, traffic: {kind: datagram, message: 1400B, rate: 50Mbit/s},
    pairs: [{from: {container: client, on: a}, to: {container: server, on: b}}]}
  host: {path: host-network, beside: {kind: ping, rate: 100/s}, pairs: [{from: a, to: {container: server, on: b}}]}
  macvlan: {path: macvlan, traffic: {kind: ping}, pairs: [{from: a, to: {container: server, on: b}}]}
`

func dockerRun(t testing.TB, suite string, args ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "docker.yaml")
	if err := os.WriteFile(file, []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	return append([]string{"run", file, "--out", filepath.Join(t.TempDir(), "run")}, args...)
}

// TestContainersOfAnEngineAreMeasured: every path, with what the engine made, and nothing stays.
func TestContainersOfAnEngineAreMeasured(t *testing.T) {
	measured(t, testContainersOfAnEngineAreMeasured)
}

func testContainersOfAnEngineAreMeasured(t *attempt) {
	needsDocker(t)
	before := hostAtRest(t)
	o := untilMeasured(t, []string{"proxy", "rules", "host", "macvlan"}, dockerRun(t, dockerSuite, "--window", "250ms", "--json")...)
	var r struct {
		Cells map[string]struct {
			Status, Reason, Engines, Configuration string
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || len(r.Cells) != 4 {
		t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
	}
	for name, words := range map[string][]string{
		"proxy":   {"docker-proxy -proto tcp", "DNAT", "container server: network bridge, 172.17.0.2/16", "nf_conntrack_max"},
		"rules":   {"on node a:", "on node b:", "container client: network windtunnel", "DNAT"},
		"host":    {"container server: network host"},
		"macvlan": {"container server: network mynetwork, 172.16.0.21/24, gateway 172.16.0.254"},
	} {
		cell := r.Cells[name]
		if cell.Status != "measured" {
			t.Errorf("%s: %s (%s)\n%s", name, cell.Status, cell.Reason, o.err)
			continue
		}
		for _, word := range words {
			if !strings.Contains(cell.Engines, word) {
				t.Errorf("%s: no %q in\n%s", name, word, cell.Engines)
			}
		}
		if strings.Contains(cell.Engines, "docker-proxy") != (name == "proxy") {
			t.Errorf("%s: the proxies are\n%s", name, cell.Engines)
		}
	}
	mustBeAsBefore(t, before)
}

// engineProcesses are those of engines of the testbed's own, as this host counts them.
func engineProcesses() []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if line := strings.ReplaceAll(string(text), "\x00", " "); strings.Contains(line, "--host=unix:///mnt/docker.sock") || strings.HasPrefix(line, docker.Program+" ") {
			found = append(found, filepath.Base(filepath.Dir(file))+" "+line)
		}
	}
	return found
}

// TestAnEngineDiesWithItsRun: a kill -9 of everybody who could end it, and what that leaves, clean
// takes away.
func TestAnEngineDiesWithItsRun(t *testing.T) {
	needsDocker(t)
	before := hostAtRest(t)
	if left := engineProcesses(); len(left) > 0 {
		t.Skipf("not looked at here: somebody else's run has an engine: %v", left)
	}
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), dockerRun(t, dockerSuite, "--cells", "proxy", "--budget", "30s")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	wait := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, engineProcesses())
			}
		}
	}
	// The engine, the container's first process, and a worker in it.
	wait("an engine with a worker", func() bool { return len(engineProcesses()) == 3 })
	for _, pid := range append(find("bin/windtunnel agent"), cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-ended
	wait("nobody", func() bool { return len(engineProcesses()) == 0 })
	waitForNone(t)
	clean(t)
	mustBeAsBefore(t, before)
}

// TestAnEngineThatDiesInTheMiddle spoils its cell's trials and is built anew. How long engines take to start is not the run's to bound: it
// is ended once trials count again.
func TestAnEngineThatDiesInTheMiddle(t *testing.T) { measured(t, testAnEngineThatDiesInTheMiddle) }

func testAnEngineThatDiesInTheMiddle(t *attempt) {
	needsDocker(t)
	if left := engineProcesses(); len(left) > 0 {
		t.Skipf("not looked at here: somebody else's run has an engine: %v", left)
	}
	before := hostAtRest(t)
	out := filepath.Join(t.TempDir(), "run")
	args := dockerRun(t, dockerSuite, "--cells", "macvlan", "--budget", "90s", "--window", "250ms", "--json", "--out", out)
	killed, most := false, 0
	said, errs := untilSeen(t, exec.Command(filepath.Join(bin, "windtunnel"), args...), 2*time.Minute, func() bool {
		count := countTrials(t, out)["macvlan"]
		if !killed && count > 0 {
			killed, most = killAnEngine(), count+2 // the trial that goes on, and one that ended meanwhile
		}
		return killed && count > most
	})
	r := parsed(t, outcome{out: said, err: errs})
	if !killed || r.Cells["macvlan"].Status != "measured" || !strings.Contains(errs, "rebuilding its testbed") || !strings.Contains(errs, "docker-b has ended") {
		t.Errorf("%+v\n%s", r.Cells["macvlan"], errs)
	}
	mustBeAsBefore(t, before)
}

// killAnEngine kills the testbed's, and says whether there was one.
func killAnEngine() bool {
	all := engineProcesses()
	at := slices.IndexFunc(all, func(line string) bool { return strings.Contains(line, "dockerd") })
	if at < 0 {
		return false
	}
	var pid int
	fmt.Sscan(all[at], &pid)
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}

// handStarts are the commands by which people start engines, given a folder and a parent of control groups.
var handStarts = map[string]string{
	"dockerd": `exec dockerd --data-root "$1/root" --host "unix://$1/s" --cgroup-parent "$2" --exec-opt native.cgroupdriver=cgroupfs`,
	"podman":  `exec podman --root "$1/root" --runroot "$1/runroot" --cgroup-manager cgroupfs system service --time 0 "unix://$1/s"`,
}

// handStarted is an engine that somebody else has started, in namespaces of its own. It returns how
// containers are run by it.
func handStarted(t testing.TB, program string) docker.Config {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	group := fmt.Sprintf("%se2e-%d-%s", docker.CgroupPrefix, os.Getpid(), program)
	script := `set -e
		mount -t proc proc /proc
		mount -t tmpfs -o mode=755 tmpfs /run
		mkdir -p /run/e /run/w "$1/root" "$1/runroot"
		mount -t overlay -o lowerdir=/etc,upperdir=/run/e,workdir=/run/w overlay /etc
		ip link set lo up
		` + handStarts[program]
	cmd := exec.Command("sh", "-c", script, "sh", dir, group)
	// Unshared, not cloned, mounts are private (syscall.SysProcAttr), and none gets out to the host.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	ended := startBound(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		log.Close()
		if _, err := docker.RemoveCgroups(group); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	socket := filepath.Join(dir, "s")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return docker.Config{Socket: socket, Processes: fmt.Sprintf("/proc/%d/root/proc", cmd.Process.Pid), CgroupParent: group,
				Program: filepath.Join(bin, "windtunnel"), Idle: []string{"agent", "--worker"}, Prefix: "ours-", Lease: "ours"}
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log.Name())
			t.Fatalf("the engine does not listen: %s", said)
		}
	}
}

// TestAnEngineOfOthers runs containers by engines that run already, and takes away what is ours and
// nothing else.
func TestAnEngineOfOthers(t *testing.T) {
	needsRoot(t)
	for program := range handStarts {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("not measured here: needs %s: apt-get install docker.io podman", program)
			}
			besideOthers(t)
			measured(t, func(t *attempt) { runByOthers(t, handStarted(t, program)) })
		})
	}
}

func runByOthers(t testing.TB, config docker.Config) {
	ctx := context.Background()
	want := testbed.Engine{Name: "e", Node: "a", Networks: []testbed.EngineNetwork{{Name: "net", Driver: "bridge", Subnet: "10.9.8.0/24"}},
		Containers: []testbed.EngineContainer{{Name: "one", Network: "net", Address: "10.9.8.7", Publish: []int{5201}}}}
	theirs, second := config, want
	theirs.Prefix, theirs.Lease = "theirs-", "theirs"
	second.Networks, second.Containers = nil, []testbed.EngineContainer{{Name: "one", Network: testbed.NetworkNone}}
	running, err := docker.Run(ctx, config, want)
	if err != nil {
		t.Fatal(err)
	}
	other, err := docker.Run(ctx, theirs, second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Readlink(running.NetworkStack("one")); err != nil {
		t.Error(err)
	}
	if err := running.Verify(ctx); err != nil {
		t.Error(err)
	}
	session, err := running.Exec(ctx, "one", []string{"agent", "--worker"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if hello, err := bufio.NewReader(session.Stdout).ReadString('\n'); err != nil || !strings.Contains(hello, `"role":"worker"`) {
		t.Errorf("the worker said %q, %v", hello, err)
	}
	if err := errors.Join(session.Stdin.Close(), session.Wait()); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	taken := testbed.Engine{Name: "e", Node: "a", Containers: []testbed.EngineContainer{{Name: "two", Network: testbed.NetworkDefault, Publish: []int{5201}}}}
	if _, err := docker.Run(ctx, config, taken); err == nil || !strings.Contains(err.Error(), "choose another `port`") {
		t.Errorf("a port that is taken: %v", err)
	}
	taken.Containers = []testbed.EngineContainer{{Name: "three", Network: testbed.NetworkDefault, Image: "no-such-image"}}
	if _, err := docker.Run(ctx, config, taken); err == nil || !strings.Contains(err.Error(), "docker save") {
		t.Errorf("an image that is not there: %v", err)
	}
	said, err := docker.Remove(ctx, config.Socket, "ours")
	if err != nil || len(said) < 3 {
		t.Errorf("%q, %v", said, err)
	}
	if err := running.Verify(ctx); err == nil {
		t.Error("ours still run")
	}
	if err := other.Verify(ctx); err != nil {
		t.Errorf("theirs are gone, too: %v", err)
	}
	if said, err := docker.Remove(ctx, config.Socket, "ours"); err != nil || len(said) != 0 {
		t.Errorf("again: %q, %v", said, err)
	}
}
