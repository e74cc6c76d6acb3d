//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// windowsPort is where a second sshd of h2 listens, whose commands are Windows': it hands them to Wine's cmd.exe, as
// Windows' sshd hands them to cmd.exe.
const windowsPort = 2222

// windowsShell runs what somebody who logs in asks for. Files go by sshd's own server, from the same folder.
const windowsShell = `#!/bin/sh
cd %[1]s || exit 1
case $SSH_ORIGINAL_COMMAND in
*/sftp-server*) exec $SSH_ORIGINAL_COMMAND;;
'') exit 1;;
esac
%[2]s
exec %[3]s cmd /d /c "$SSH_ORIGINAL_COMMAND"
`

// windowsNode has h2 of two hosts be Windows. The cells that need no laid-out path run there, by its own counters, the others
// are refused by name, and nothing stays. Wine's sockets are its server's, so the server is started in h2.
func windowsNode(t *attempt, w *wine) {
	if os.Getenv("HOSTS_SOAK") == "" {
		t.Skip("not measured here: it takes most of a minute, and is a part of `make soak` (HOSTS_SOAK=1)")
	}
	b := newHosts(t)
	b.on(t, 1, "ip address del 10.0.0.2/24 dev data; ip address add 10.0.0.2/24 dev data") // Wine knows no labels
	w.end()
	t.Cleanup(w.end)
	pc := windowsPC{hostsBed: b, program: besideForWindows(t, w)}
	w.keepUp(b.hosts[1].pid)
	pc.home = b.windowsHost(t, w)
	for _, part := range []struct {
		name string
		test func(testing.TB)
	}{{"raw cells", pc.rawCells}, {"doctor", pc.doctor}, {"between", pc.between}, {"a killed agent", pc.killedAgent}, {"a killed conductor", pc.killedConductor}, {"a cut connection", pc.cutConnection}} {
		t.Run(part.name, func(t *attempt) {
			part.test(t)
			pc.mustHaveNothingBrought(t)
		})
	}
}

// windowsPC is two hosts of which h2 is Windows.
type windowsPC struct {
	*hostsBed
	program string // the conductor's
	home    string // where sessions begin on h2
}

// withWindows are the nodes of most suites.
var withWindows = fmt.Sprintf("a=ssh://root@h1?data=10.0.0.1,b=ssh://root@h2:%d?data=10.0.0.2", windowsPort)

func (pc windowsPC) rawCells(t testing.TB) {
	dir := filepath.Join(t.TempDir(), "run")
	o := pc.runBy(t, pc.program, time.Minute, "run", "contrail-windows", "--cells", "A,B", "--nodes", withWindows, "--budget", "8s", "--window", "300ms", "--out", dir, "--json")
	r := parsed(t, o)
	if cell := r.Cells["A"]; cell.Status != "measured" || cell.Received.Mean == nil || *cell.Received.Mean < 1e7 {
		t.Errorf("cell A: %+v\n%s", cell, o.err)
	}
	if cell := r.Cells["B"]; cell.Status == "measured" || !strings.Contains(cell.Reason, "node b is Windows ") {
		t.Errorf("cell B: %+v\n%s", cell, o.err)
	}
	records, err := os.ReadFile(filepath.Join(dir, "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"cpu_source":"system-times"`, `"os.name":"Windows `, `"role":"wire"`} {
		if !bytes.Contains(records, []byte(want)) {
			t.Errorf("the records lack %s", want)
		}
	}
}

func (pc windowsPC) doctor(t testing.TB) {
	o := pc.runBy(t, pc.program, time.Minute, "doctor", "--nodes", withWindows)
	if o.code != 0 || !regexp.MustCompile(`system +Windows `).MatchString(o.out) || !strings.Contains(o.out, "10.0.0.2/24") || !strings.Contains(o.out, "processes on the path wire") {
		t.Errorf("exit code %d\n%s%s", o.code, o.out, o.err)
	}
}

// between runs with a /run of its own: it also takes the machine that it is started on, which another test may have.
func (pc windowsPC) between(t testing.TB) {
	apart := []string{"-m", "sh", "-c", `mount -t tmpfs tmpfs /run && exec "$@"`, "sh"}
	o := pc.runBy(t, "unshare", time.Minute, append(apart, pc.program, "between", "ssh://root@h1", fmt.Sprintf("ssh://root@h2:%d?data=10.0.0.2", windowsPort),
		"--kind", "stream,datagram,ping", "--budget", "15s", "--json")...)
	for name, cell := range parsed(t, o).Cells {
		if cell.Status != "measured" {
			t.Errorf("%s: %+v\n%s", name, cell, o.err)
		}
	}
}

// killedAgent leaves nothing: what it left to remove its program does.
func (pc windowsPC) killedAgent(t testing.TB) {
	o := pc.inATrial(t, func(*exec.Cmd) { pc.on(t, 1, `kill -9 $(pgrep -f '^[^ ]*windtunnel.exe agent --node b')`) })
	if o.code != 1 || !strings.Contains(o.err, "node b") {
		t.Errorf("exit code %d\n%s", o.code, o.err)
	}
}

func (pc windowsPC) killedConductor(t testing.TB) {
	pc.inATrial(t, func(run *exec.Cmd) {
		_ = run.Process.Kill()
		pc.awaitNothingBrought(t)
	})
}

// cutConnection drops all packets of control, so that neither side is told.
func (pc windowsPC) cutConnection(t testing.TB) {
	o := pc.inATrial(t, func(*exec.Cmd) {
		for _, way := range []string{"OUTPUT -o", "INPUT -i"} {
			must(t, append(append([]string{"nsenter", "-t", fmt.Sprint(pc.conductor.pid), "-n", "iptables", "-A"}, strings.Fields(way)...), "mgmt2", "-j", "DROP")...)
		}
		pc.awaitNothingBrought(t)
	})
	must(t, "nsenter", "-t", fmt.Sprint(pc.conductor.pid), "-n", "iptables", "-F")
	if o.code != 1 || !strings.Contains(o.err, "node b") {
		t.Errorf("exit code %d\n%s", o.code, o.err)
	}
}

// inATrial does something to a run in one of its trials.
func (pc windowsPC) inATrial(t testing.TB, do func(run *exec.Cmd)) outcome {
	t.Helper()
	var said bytes.Buffer
	out := filepath.Join(t.TempDir(), "run")
	cmd := pc.in(pc.conductor.pid, pc.program, "run", "contrail-windows", "--cells", "A", "--nodes", withWindows, "--budget", "60s", "--out", out)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &said, &said
	ended := startBound(t, cmd)
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	awaitTrials(t, filepath.Join(out, "run.jsonl"), []string{"A"}, ended, &said)
	do(cmd)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the run did not end within a minute: %s", said.String())
	}
	return outcome{code: cmd.ProcessState.ExitCode(), err: said.String()}
}

// awaitNothingBrought is for a host that has to take everything away by itself.
func (pc windowsPC) awaitNothingBrought(t testing.TB) {
	t.Helper()
	t = strictly(t)
	for began := time.Now(); len(pc.brought(t)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Errorf("10 s later h2 still has %v", pc.brought(t))
			return
		}
	}
}

// mustHaveNothingBrought looks whether anything of ours is there.
func (pc windowsPC) mustHaveNothingBrought(t testing.TB) {
	t.Helper()
	t = strictly(t)
	if left := pc.brought(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

func (pc windowsPC) brought(t testing.TB) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(pc.home, ".windtunnel-*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// keepUp has Wine run in the namespaces of a process until the test ends. It ends some seconds after its last program, and the
// session that comes next would begin it again, and last as long as its services do, which hold its streams.
func (w *wine) keepUp(pid int) {
	w.t.Helper()
	c := exec.Command("nsenter", "-t", fmt.Sprint(pid), "-n", "-m", "-p", w.loader, "cmd", "/d", "/c", "echo up & set /p end=")
	c.Env, c.WaitDelay = w.env, 5*time.Second
	stdin, err := c.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = stdin.Close()
		w.end()
		_ = c.Wait()
	})
	up := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		up <- line
	}()
	select {
	case line := <-up:
		if strings.TrimSpace(line) != "up" {
			w.t.Fatalf("Wine says %q", line)
		}
	case <-time.After(wineBoot):
		w.t.Fatal("Wine does not begin on h2")
	}
}

// windowsHost lets a second sshd begin on h2, and returns the folder in which its sessions begin.
func (b *hostsBed) windowsHost(t testing.TB, w *wine) (home string) {
	t.Helper()
	home = filepath.Join(b.dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := ""
	for _, setting := range w.env {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "WINE") || name == "HOME" || name == "DISPLAY" {
			settings += "export " + name + "='" + value + "'\n"
		}
	}
	b.write(t, "shell", fmt.Sprintf(windowsShell, home, settings, w.loader), 0o755)
	config := fmt.Sprintf(sshdConfig, 2, b.dir) + fmt.Sprintf("Port %d\nForceCommand %s/shell\nSubsystem sftp /usr/lib/openssh/sftp-server\n", windowsPort, b.dir)
	b.write(t, "sshd-windows", config, 0o600)
	known, err := os.ReadFile(filepath.Join(b.dir, "known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "known_hosts", string(known)+strings.ReplaceAll(string(known), "10.9.2.2 ", fmt.Sprintf("[10.9.2.2]:%d ", windowsPort)), 0o600)
	var said bytes.Buffer
	daemon := exec.Command("nsenter", "-t", fmt.Sprint(b.hosts[1].pid), "-n", "-m", "-p", "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(b.dir, "sshd-windows"))
	daemon.Stdout, daemon.Stderr, daemon.WaitDelay = &said, &said, 5*time.Second
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // until Wine has begun there, too
		out, err := b.in(b.conductor.pid, "ssh", "-o", "BatchMode=yes", "-p", fmt.Sprint(windowsPort), "root@h2", "cmd.exe /d /c echo %OS%").CombinedOutput()
		if err == nil && strings.Contains(string(out), "Windows_NT") {
			return home
		}
		if time.Now().After(deadline) {
			t.Fatalf("Windows on h2 does not answer: %s, %v", out, err)
		}
	}
}

// besideForWindows puts the programs beside each other as `make dist` calls them, and returns the conductor's.
func besideForWindows(t testing.TB, w *wine) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "windtunnel")
	for link, to := range map[string]string{program: filepath.Join(bin, "windtunnel"), filepath.Join(dir, "vrouter"): filepath.Join(bin, "vrouter"), filepath.Join(dir, "windtunnel-windows-amd64.exe"): w.program} {
		whole, err := filepath.Abs(to)
		if err != nil {
			t.Fatal(err)
		}
		must(t, "cp", whole, link)
	}
	return program
}
