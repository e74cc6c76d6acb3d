//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// existingRed and existingBlue are this process's namespaces for the tests of places that run already.
var existingRed, existingBlue = fmt.Sprintf("wt-%d-red", os.Getpid()), fmt.Sprintf("wt-%d-blue", os.Getpid())

// mustRun runs a program that must succeed.
func mustRun(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// twoNamespaces makes two named namespaces that a virtual pair joins, as a user might have them.
func twoNamespaces(t testing.TB) {
	t.Helper()
	needsRoot(t)
	remove := func() {
		for _, name := range []string{existingRed, existingBlue} {
			_ = exec.Command("ip", "netns", "delete", name).Run()
		}
	}
	remove()
	t.Cleanup(remove)
	for _, name := range []string{existingRed, existingBlue} {
		mustRun(t, "ip", "netns", "add", name)
	}
	mustRun(t, "ip", "link", "add", "red0", "netns", existingRed, "type", "veth", "peer", "blue0", "netns", existingBlue)
	for name, end := range map[string][2]string{existingRed: {"red0", "10.77.0.1/24"}, existingBlue: {"blue0", "10.77.0.2/24"}} {
		mustRun(t, "ip", "-n", name, "address", "add", end[1], "dev", end[0])
		mustRun(t, "ip", "-n", name, "link", "set", end[0], "up")
		mustRun(t, "ip", "-n", name, "link", "set", "lo", "up")
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		states := mustRun(t, "ip", "-n", existingRed, "link") + mustRun(t, "ip", "-n", existingBlue, "link")
		if strings.Count(states, "state UP") == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the links do not come up:\n%s", states)
		}
	}
}

// existingSuite measures between them.
var existingSuite = `
suite: places
asks: What passes between two namespaces that were there before?
nodes:
  red: {exec: [nsenter, --net=/run/netns/` + existingRed + `]}
  blue: {exec: "netns:` + existingBlue + `"}
path: existing
traffic: {kind: stream}
cells:
  tcp: {pairs: [{from: red, to: blue}]}
  udp: {traffic: {kind: datagram, rate: 50Mbit/s, message: 1400B}, pairs: [{from: red, to: blue}]}
  ping: {traffic: {kind: ping, rate: 500/s}, pairs: [{from: blue, to: red}]}
ratios: [udp/tcp]
`

func suiteFile(t testing.TB, suite string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "suite.yaml")
	if err := os.WriteFile(file, []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// brought are what entries have written on this host and not removed.
func brought(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, folder := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm", "/run"} {
		found, err := filepath.Glob(filepath.Join(folder, ".windtunnel-*"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// waitForPlacesLeft waits until no agent of a place runs, and nothing that was brought is there.
func waitForPlacesLeft(t testing.TB) {
	t.Helper()
	t = strictly(t)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := append(placeAgents(), brought(t)...)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are still %v", left)
		}
	}
}

// placeAgents are the processes in the two namespaces: shells, what those run, agents and workers.
func placeAgents() []string { return append(processesIn(existingRed), processesIn(existingBlue)...) }

// processesIn are a namespace's, none if there is no such one.
func processesIn(namespace string) []string {
	out, _ := exec.Command("ip", "netns", "pids", namespace).Output()
	return strings.Fields(string(out))
}

// hasWorker tells whether a worker stands in a namespace, which its agent has then long entered.
func hasWorker(namespace string) bool {
	return slices.ContainsFunc(processesIn(namespace), func(pid string) bool {
		line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		return strings.Contains(string(line), "\x00--worker\x00")
	})
}

// entered is the process by which a conductor entered a namespace: its own child there.
func entered(t testing.TB, namespace string, conductor int) (pid int) {
	t.Helper()
	for _, one := range processesIn(namespace) {
		text, _ := os.ReadFile("/proc/" + one + "/status")
		if strings.Contains(string(text), fmt.Sprintf("\nPPid:\t%d\n", conductor)) {
			_, _ = fmt.Sscan(one, &pid)
			return pid
		}
	}
	t.Fatalf("%s has %v, and none is a child of %d", namespace, processesIn(namespace), conductor)
	return 0
}

// TestPlacesThatRunAlready measures between namespaces of others, and changes nothing of them.
func TestPlacesThatRunAlready(t *testing.T) { measured(t, testPlacesThatRunAlready) }

func testPlacesThatRunAlready(t *attempt) {
	twoNamespaces(t)
	before := hostAtRest(t)
	inside := mustRun(t, "ip", "-n", existingRed, "-d", "link") + mustRun(t, "ip", "-n", existingBlue, "-d", "link")
	o := windtunnel(t, time.Minute, "run", suiteFile(t, existingSuite), "--budget", "12s", "--window", "250ms", "--json")
	r := parsed(t, o)
	for name, least := range map[string]float64{"tcp": 1e8, "udp": 4e7, "ping": 1} {
		if cell := r.Cells[name]; cell.Status != "measured" || cell.Received.Mean == nil || *cell.Received.Mean < least {
			t.Errorf("%s: %+v", name, cell)
		}
	}
	if !strings.Contains(o.out, "on one machine") || strings.Contains(o.out, "simulated on") {
		t.Errorf("the doubts are others: %s", o.out)
	}
	after := mustRun(t, "ip", "-n", existingRed, "-d", "link") + mustRun(t, "ip", "-n", existingBlue, "-d", "link")
	if inside != after {
		t.Errorf("before:\n%s\nafter:\n%s", inside, after)
	}
	waitForPlacesLeft(t)
	mustBeAsBefore(t, before)
}

// TestPlacesAreLeftAfterKills: of the conductor, and of what enters a place.
func TestPlacesAreLeftAfterKills(t *testing.T) {
	twoNamespaces(t)
	for _, victim := range []string{"conductor", "place"} {
		t.Run(victim, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suiteFile(t, existingSuite), "--budget", "30s", "--out", filepath.Join(t.TempDir(), "run"))
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); !hasWorker(existingRed) || !hasWorker(existingBlue); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the places have %v", placeAgents())
				}
			}
			pid := cmd.Process.Pid
			if victim == "place" {
				pid = entered(t, existingRed, pid)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_ = cmd.Wait()
			if victim == "place" && (cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "node red")) {
				t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), said.String())
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it ended after %s", took)
			}
			waitForPlacesLeft(t)
			clean(t)
		})
	}
}

// TestPlacesWithoutRoom: folders where nothing fits or may be executed.
func TestPlacesWithoutRoom(t *testing.T) {
	twoNamespaces(t)
	mounted := func(options string) string {
		script := "for f in /tmp /var/tmp /dev/shm /run; do mount -t tmpfs -o " + options + " none $f; done; exec \"$@\""
		return fmt.Sprintf("[env, TMPDIR=/tmp, unshare, --mount, sh, -c, %q, sh]", script)
	}
	for options, says := range map[string]string{"noexec": "noexec", "size=1m": "KiB free", "ro": "cannot be written"} {
		suite := strings.Replace(existingSuite, `"netns:`+existingBlue+`"`, mounted(options), 1)
		o := windtunnel(t, time.Minute, "run", suiteFile(t, suite), "--budget", "10s")
		if o.code != 1 || !strings.Contains(o.err, says) || !strings.Contains(o.err, "entering blue") {
			t.Errorf("%s: exit code %d\n%s", options, o.code, o.err)
		}
	}
	waitForPlacesLeft(t)
}

// shelled are the programs that a place's shell needs.
var shelled = []string{"sh", "uname", "mkdir", "rm", "chmod", "df", "tail", "head", "wc", "sha256sum", "sleep"}

// rootFolder is a file system with a shell, as an image of a container has one.
func rootFolder(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	take := func(file string) {
		to := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		mustRun(t, "cp", "-L", file, to)
	}
	for _, program := range shelled {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		take(path)
		for word := range strings.FieldsSeq(mustRun(t, "ldd", path)) {
			if strings.HasPrefix(word, "/") {
				take(strings.TrimSuffix(word, ":"))
			}
		}
	}
	for _, folder := range []string{"tmp", "proc", "sys", "dev"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o1777); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(t.TempDir(), "root.tar")
	mustRun(t, "tar", "-C", root, "-cf", archive, ".")
	return archive
}

// TestContainersThatRunAlready enters containers of an engine that somebody has started: our program is brought
// through `docker exec`.
func TestContainersThatRunAlready(t *testing.T) { measured(t, testContainersThatRunAlready) }

func testContainersThatRunAlready(t *attempt) {
	needsDocker(t)
	client, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("not measured here: needs docker's client: apt-get install docker.io")
	}
	engine := handStarted(t, "dockerd")
	docker := func(args ...string) string {
		return mustRun(t, append([]string{client, "-H", "unix://" + engine.Socket}, args...)...)
	}
	docker("import", rootFolder(t), "shelled")
	for _, name := range []string{"web", "db"} {
		docker("run", "--detach", "--name", name, "shelled", "sleep", "600")
	}
	enter := fmt.Sprintf("[%s, -H, %q, exec, -i, %%s]", client, "unix://"+engine.Socket)
	suite := fmt.Sprintf(`
suite: containers
asks: What passes between two containers that run already?
nodes: {web: {exec: `+enter+`}, db: {exec: `+enter+`}}
path: existing
traffic: {kind: stream}
cells: {tcp: {pairs: [{from: web, to: db}]}}
`, "web", "db")
	r := parsed(t, windtunnel(t, time.Minute, "run", suiteFile(t, suite), "--budget", "8s", "--window", "250ms", "--json"))
	if cell := r.Cells["tcp"]; cell.Status != "measured" || *cell.Received.Mean < 1e8 {
		t.Errorf("%+v", cell)
	}
	if left := docker("exec", "web", "sh", "-c", "echo /tmp/.w* /tmp/*"); strings.TrimSpace(left) != "/tmp/.w* /tmp/*" {
		t.Errorf("left in the container: %s", left)
	}
	// One without a shell, as images of one program are.
	docker("exec", "db", "rm", mustRun(t, "sh", "-c", "printf %s $(command -v sh)"))
	o := windtunnel(t, time.Minute, "run", suiteFile(t, suite), "--budget", "8s")
	if o.code != 1 || !strings.Contains(o.err, "entering db") || !strings.Contains(o.err, "--target PID --net") {
		t.Errorf("without a shell: exit code %d\n%s", o.code, o.err)
	}
	waitForPlacesLeft(t)
}
