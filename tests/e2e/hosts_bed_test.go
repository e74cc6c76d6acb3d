//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostsBed is two hosts that are reached by real sshd processes, and a place for the conductor, each with a network
// namespace and, where it is a host, its own /run, /var/cache and /sys, and its own clocks since boot:
//
//	conductor 10.9.1.1 - mgmt 10.9.1.2 h1 data 10.0.0.1 - 10.0.0.2 data h2 mgmt 10.9.2.2 - 10.9.2.1 conductor
type hostsBed struct {
	dir       string // keys, configurations, and a program ssh that has them
	conductor *holder
	hosts     []*holder
}

// holder is a process that holds namespaces.
type holder struct {
	cmd   *exec.Cmd
	pid   int // that has the namespaces
	stdin io.WriteCloser
	said  *bytes.Buffer
}

// hold starts a process that dies with this one.
func hold(t testing.TB, argv ...string) *holder {
	t.Helper()
	h := &holder{cmd: exec.Command(argv[0], argv[1:]...), said: &bytes.Buffer{}}
	stdin, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.stdin = stdin
	h.cmd.Stdout, h.cmd.Stderr = h.said, h.said
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = h.cmd.Process.Kill() // whose child is a process namespace's first, so all of them end
		_ = h.cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		parent := h.cmd.Process.Pid
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
		if h.pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return h
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v has no child: %s", argv, h.said)
		}
	}
}

// sshdConfig is of a daemon that needs nothing of the system's.
const sshdConfig = `
ListenAddress 10.9.%[1]d.2
HostKey %[2]s/host%[1]d
AuthorizedKeysFile /run/keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
`

// sshConfig is the user's, for all hosts.
const sshConfig = `
Host *
  IdentityFile %[1]s/user
  IdentitiesOnly yes
  UserKnownHostsFile %[1]s/known_hosts
  GlobalKnownHostsFile /dev/null
`

// newHosts builds the bed.
func newHosts(t testing.TB) *hostsBed {
	t.Helper()
	return hostsOf(t, 2)
}

// hostsOf builds a bed of so many hosts. Each has one of this machine's CPUs, as simulated nodes have there. More than two have
// their data by a switch, a bridge in the conductor's place.
func hostsOf(t testing.TB, count int) *hostsBed {
	t.Helper()
	return hostsWith(t, count, func(i int) string { return cpuOf(t, i) })
}

// hostsWith builds a bed of so many hosts, each with the CPUs of a list as taskset(1) takes it.
func hostsWith(t testing.TB, count int, cpus func(host int) string) *hostsBed {
	t.Helper()
	needsRoot(t)
	for _, program := range []string{"/usr/sbin/sshd", "ssh", "ssh-keygen", "unshare", "nsenter", "taskset", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: apt-get install openssh-server util-linux iproute2", program)
		}
	}
	b := &hostsBed{dir: t.TempDir(), hosts: make([]*holder, count)}
	b.keys(t)
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "passwd", string(users)+"plain:*:65533:65534::/:/bin/sh\n", 0o644)
	b.conductor = hold(t, "unshare", "-n", "-p", "-f", "--kill-child", "cat")
	for i := range b.hosts {
		n := i + 1
		b.write(t, fmt.Sprintf("sshd%d", n), fmt.Sprintf(sshdConfig, n, b.dir), 0o600)
		own := append([]string{"taskset", "-c", cpus(i), "unshare"}, clocksOf(t, i)...)
		b.hosts[i] = hold(t, append(own, "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", `set -e
			mount --make-rprivate /; mount -t tmpfs tmpfs /run; mkdir -m 755 /run/sshd /run/windtunnel; mount -t tmpfs tmpfs /var/cache
			mkdir /run/cgroup; mount --rbind /sys/fs/cgroup /run/cgroup; mount -t sysfs sysfs /sys; mount --move /run/cgroup /sys/fs/cgroup; rmdir /run/cgroup
			mount --bind `+filepath.Join(b.dir, "passwd")+` /etc/passwd; cp `+filepath.Join(b.dir, "user.pub")+` /run/keys; read go; exec /usr/sbin/sshd -D -e -f `+filepath.Join(b.dir, fmt.Sprintf("sshd%d", n)))...)
	}
	b.wires(t)
	b.clocksAreApart(t)
	return b
}

// cpuOf shares out the CPUs that this process may use.
func cpuOf(t testing.TB, i int) string {
	t.Helper()
	text, err := exec.Command("sh", "-c", "taskset -cp $$ | sed 's/.*: //'").Output()
	if err != nil {
		t.Fatal(err)
	}
	ends := regexp.MustCompile(`\d+`).FindAllString(string(text), -1)
	return []string{ends[0], ends[len(ends)-1]}[i%2]
}

func (b *hostsBed) write(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (b *hostsBed) keys(t testing.TB) {
	t.Helper()
	known, config, names := "", "", []string{"user"}
	for i := range b.hosts {
		names = append(names, fmt.Sprintf("host%d", i+1))
		config += fmt.Sprintf("Host h%[1]d\n  HostName 10.9.%[1]d.2\n", i+1)
	}
	for _, name := range names {
		must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(b.dir, name))
		if public, err := os.ReadFile(filepath.Join(b.dir, name+".pub")); err == nil && name != "user" {
			known += fmt.Sprintf("10.9.%s.2 %s", strings.TrimPrefix(name, "host"), public)
		}
	}
	b.write(t, "known_hosts", known, 0o600)
	b.write(t, "config", config+fmt.Sprintf(sshConfig, b.dir), 0o600)
	b.write(t, "ssh", fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F %s/config \"$@\"\n", b.dir), 0o755)
}

// wires joins the namespaces and lets the daemons begin.
func (b *hostsBed) wires(t testing.TB) {
	t.Helper()
	c := b.conductor.pid
	pids := []int{c}
	for _, h := range b.hosts {
		pids = append(pids, h.pid)
	}
	awaitNamespaces(t, pids...)
	var lines []string
	if len(b.hosts) == 2 {
		lines = append(lines, fmt.Sprintf("ip link add data netns %d type veth peer name data netns %d", pids[1], pids[2]))
	} else {
		lines = append(lines, fmt.Sprintf("nsenter -t %d -n ip link add data type bridge", c), fmt.Sprintf("nsenter -t %d -n ip link set data up", c))
	}
	for i, h := range pids[1:] {
		n := i + 1
		if len(b.hosts) > 2 {
			lines = append(lines, fmt.Sprintf("ip link add data netns %d type veth peer name data%d netns %d", h, n, c),
				fmt.Sprintf("nsenter -t %d -n ip link set data%d master data up", c, n))
		}
		lines = append(lines,
			fmt.Sprintf("ip link add mgmt%d netns %d type veth peer name mgmt netns %d", n, c, h),
			fmt.Sprintf("nsenter -t %d -n ip address add 10.9.%d.1/24 dev mgmt%d", c, n, n), fmt.Sprintf("nsenter -t %d -n ip link set mgmt%d up", c, n),
			fmt.Sprintf("nsenter -t %d -n ip link set lo up", h),
			fmt.Sprintf("nsenter -t %d -n ip address add 10.9.%d.2/24 dev mgmt", h, n), fmt.Sprintf("nsenter -t %d -n ip link set mgmt up", h),
			fmt.Sprintf("nsenter -t %d -n ip route add default via 10.9.%d.1", h, n),
			fmt.Sprintf("nsenter -t %d -n ip address add 10.0.0.%d/24 dev data label data:x", h, n), fmt.Sprintf("nsenter -t %d -n ip link set data mtu 1400 up", h),
			fmt.Sprintf("nsenter -t %d -n ip route add 10.77.0.0/16 via 10.0.0.%d metric 7", h, n%len(b.hosts)+1))
	}
	for _, line := range lines {
		must(t, strings.Fields(line)...)
	}
	for i, h := range b.hosts {
		if _, err := io.WriteString(h.stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
		b.awaitDaemon(t, i)
		b.awaitCarriers(t, i)
	}
}

// join adds a second network for data to a bed of two hosts: data2 of each, 10.1.0.1 and 10.1.0.2.
func (b *hostsBed) join(t testing.TB) {
	t.Helper()
	must(t, strings.Fields(fmt.Sprintf("ip link add data2 netns %d type veth peer name data2 netns %d", b.hosts[0].pid, b.hosts[1].pid))...)
	for i, h := range b.hosts {
		for _, line := range []string{fmt.Sprintf("ip address add 10.1.0.%d/24 dev data2", i+1), "ip link set data2 mtu 1300 up", fmt.Sprintf("ip route add 10.78.0.0/16 via 10.1.0.%d metric 9", len(b.hosts)-i)} {
			must(t, append([]string{"nsenter", "-t", fmt.Sprint(h.pid), "-n"}, strings.Fields(line)...)...)
		}
	}
	for i := range b.hosts {
		b.awaitCarriers(t, i)
	}
}

// awaitCarriers waits until the kernel has noticed that both ends of a host's wires are up, which it does up to a
// second later: a host is compared only with itself at rest.
func (b *hostsBed) awaitCarriers(t testing.TB, i int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		links := b.on(t, i, "ip link show")
		if !strings.Contains(links, "NO-CARRIER") && strings.Count(links, "state UP") >= 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("h%d's wires have no carrier:\n%s", i+1, links)
		}
	}
}

func (b *hostsBed) awaitDaemon(t testing.TB, i int) {
	t.Helper()
	var said []byte
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if said, err = b.in(b.conductor.pid, "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=1", fmt.Sprintf("root@h%d", i+1), "true").CombinedOutput(); err == nil {
			return
		}
	}
	t.Fatalf("sshd of h%d does not answer: %s\n%s", i+1, said, b.hosts[i].said)
}

// in is a command in the network namespace of a process, with the bed's ssh.
func (b *hostsBed) in(pid int, argv ...string) *exec.Cmd {
	cmd := exec.Command("nsenter", append([]string{"-t", fmt.Sprint(pid), "-n"}, argv...)...)
	cmd.Env = append(os.Environ(), "PATH="+b.dir+":"+os.Getenv("PATH"))
	return cmd
}

// on runs a line of a shell on a host, as it sees itself.
func (b *hostsBed) on(t testing.TB, host int, line string) string {
	t.Helper()
	out, err := b.command(host, line).CombinedOutput()
	if err != nil {
		t.Fatalf("on h%d: %s: %v\n%s", host+1, line, err, out)
	}
	return string(out)
}

// command is such a line, not run yet.
func (b *hostsBed) command(host int, line string) *exec.Cmd {
	return exec.Command("nsenter", "-t", fmt.Sprint(b.hosts[host].pid), "-n", "-m", "-p", "sh", "-c", line)
}

// state is everything of a host that a run could leave behind or change.
func (b *hostsBed) state(t testing.TB, host int) string {
	t.Helper()
	said := b.on(t, host, `ip -d address | grep -v valid_lft; ip route show table all; ip -6 route show table all; ip rule; tc qdisc
		for d in data data2; do [ ! -e /sys/class/net/$d ] || { ethtool -k $d; ethtool -l $d; grep -s . /sys/class/net/$d/queues/*/[rx]ps_*
		grep -r . /sys/class/net/$d/threaded /proc/sys/net/ipv4/conf/$d; }; done
		find /run/windtunnel /var/cache -mindepth 1 ! -name lock; cut -d" " -f1,2,3 /proc/self/mounts; ls /sys/fs/bpf`)
	lines := strings.Split(regexp.MustCompile(` (link-netnsid|link-netns|qlen|proto|tso_max_size|[a-z_]+_timer) +[^ \n]+`).ReplaceAllString(said, ""), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return strings.Contains(l, "fe80::") || strings.Contains(l, "ff00::") || strings.HasPrefix(l, "nsfs /run/netns/")
	}) // settles by itself
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// run runs the program in the conductor's place.
func (b *hostsBed) run(t testing.TB, limit time.Duration, args ...string) outcome {
	t.Helper()
	return b.runBy(t, filepath.Join(bin, "windtunnel"), limit, args...)
}

// runBy runs one there.
func (b *hostsBed) runBy(t testing.TB, program string, limit time.Duration, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := b.in(b.conductor.pid, append([]string{program}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &errs
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o := outcome{out: out.String(), err: errs.String(), took: time.Since(began)}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		o.code = exit.ExitCode()
	}
	if o.took >= limit {
		t.Fatalf("windtunnel %v did not end within %s\n%s%s", args, limit, o.out, o.err)
	}
	return o
}

// bothHosts are the nodes of most suites.
const bothHosts = "a=ssh://root@h1?data=10.0.0.1,b=ssh://root@h2?data=10.0.0.2"

func must(t testing.TB, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}

// awaitNamespaces waits until processes have network namespaces of their own.
func awaitNamespaces(t testing.TB, pids ...int) {
	t.Helper()
	own, _ := os.Readlink("/proc/self/ns/net")
	for _, pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && theirs != own {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d has no network namespace of its own", pid)
			}
		}
	}
}
