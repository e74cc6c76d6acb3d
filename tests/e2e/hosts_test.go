//go:build e2e

package e2e

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// cellsOnHosts are one of each path that is laid between hosts, and one of a single node.
const cellsOnHosts = "A,B,C,D,D-vxlan"

// TestContrailWindowsBetweenHosts: every cell is measured, with the ratios of simulated nodes, within
// their intervals, and both hosts are as before.
func TestContrailWindowsBetweenHosts(t *testing.T) { measured(t, testContrailWindowsBetweenHosts) }

func testContrailWindowsBetweenHosts(t *attempt) {
	b := newHosts(t)
	before, dir := b.states(t), filepath.Join(t.TempDir(), "run")
	said := ""
	simulate := func() report {
		o := windtunnel(t, time.Minute, "run", "contrail-windows", "--cells", cellsOnHosts, "--budget", "40s", "--precision", "50%", "--window", "200ms", "--json")
		said += o.err
		return parsed(t, o)
	}
	earlier := simulate()
	o := b.run(t, 2*time.Minute, "run", "contrail-windows", "--cells", cellsOnHosts, "--nodes", bothHosts, "--budget", "36s", "--window", "200ms", "--json", "--out", dir)
	real := parsed(t, o)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	oneWindow(t, dir)
	b.mustBeAsBefore(t, before)
	later := simulate()
	for name, cell := range real.Cells {
		if cell.Status != "measured" || cell.Received.Mean == nil || *cell.Received.Mean < 1e7 {
			t.Errorf("cell %s: %s (%s) %+v\n%s", name, cell.Status, cell.Reason, cell.Received, o.err)
		}
		if wire := cell.Wire.Mean; name != "C" && (wire == nil || *wire > 1514) {
			t.Errorf("cell %s: the wire is a NIC's, but carries %v bytes a packet", name, cell.Wire)
		}
	}
	if sameRatios(t, real, 1, earlier, later) == 0 {
		t.Errorf("no ratio has bounds in both: nothing was compared\n%s", said+o.err)
	}
}

// sameRatios compares those that have bounds on hosts and on simulated nodes, and tells how many. Their intervals have to meet, or be no
// further apart than by a factor. Where simulated nodes were measured before and after the hosts, what the machine became
// meanwhile lies between the two.
func sameRatios(t testing.TB, hosts report, apart float64, simulated ...report) (compared int) {
	t.Helper()
	for name, r := range hosts.Ratios {
		low, high := math.Inf(1), math.Inf(-1)
		for _, run := range simulated {
			if s := run.Ratios[name]; s.Low != nil && s.High != nil {
				low, high = min(low, *s.Low), max(high, *s.High)
			}
		}
		if r.Low == nil || r.High == nil || low > high {
			t.Logf("%s: no bounds: %+v, simulated [%g, %g]", name, r, low, high)
			continue
		}
		compared++
		t.Logf("%-10s hosts %.2f [%.2f, %.2f] n=%d, simulated [%.2f, %.2f]", name, *r.Estimate, *r.Low, *r.High, r.N, low, high)
		if *r.Low > apart*high || low > apart**r.High {
			t.Errorf("%s: [%.2f, %.2f] between hosts and [%.2f, %.2f] between simulated nodes", name, *r.Low, *r.High, low, high)
		}
	}
	return compared
}

// TestHostsThatCannotBeNodes: each ends soon, says why, and leaves the hosts as they were.
func TestHostsThatCannotBeNodes(t *testing.T) {
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	b.write(t, "foreign", "", 0o600)
	must(t, "sh", "-c", "yes | ssh-keygen -q -t ed25519 -N '' -f "+filepath.Join(b.dir, "foreign"))
	b.write(t, "uname", "#!/bin/sh\ncase $1 in -m) echo riscv64;; *) echo Linux;; esac\n", 0o755)
	config, _ := os.ReadFile(filepath.Join(b.dir, "config"))
	known, _ := os.ReadFile(filepath.Join(b.dir, "known_hosts"))
	other, _ := os.ReadFile(filepath.Join(b.dir, "foreign.pub"))
	for _, c := range []struct {
		name, nodes, says string
		code              int
		do, undo          func()
	}{
		{name: "no list", nodes: "h1,h2", says: "ssh://", code: 2},
		{name: "another suite's nodes", nodes: strings.Replace(bothHosts, "b=", "c=", 1), says: "the suite's nodes are a, b", code: 2},
		{name: "unreachable", nodes: strings.Replace(bothHosts, "@h2", "@10.9.2.77", 1), says: "node b: root@10.9.2.77: it cannot be reached", code: 1},
		{name: "no such name", nodes: strings.Replace(bothHosts, "@h2", "@no-such-host.invalid", 1), says: "no host of that name", code: 1},
		{name: "nobody listens", nodes: strings.Replace(bothHosts, "@h2", "@h2:2222", 1), says: "nobody listens", code: 1},
		{name: "wrong key", nodes: bothHosts, says: "it takes none of your keys", code: 1,
			do:   func() { b.write(t, "config", strings.Replace(string(config), "/user\n", "/foreign\n", 1), 0o600) },
			undo: func() { b.write(t, "config", string(config), 0o600) }},
		{name: "changed host key", nodes: bothHosts, says: "its host key is not the one that is known", code: 1,
			do:   func() { b.write(t, "known_hosts", "10.9.1.2 "+string(other)+"10.9.2.2 "+string(other), 0o600) },
			undo: func() { b.write(t, "known_hosts", string(known), 0o600) }},
		{name: "unknown host key", nodes: bothHosts, says: "its host key is not known", code: 1,
			do:   func() { b.write(t, "known_hosts", "", 0o600) },
			undo: func() { b.write(t, "known_hosts", string(known), 0o600) }},
		{name: "no root", nodes: strings.Replace(bothHosts, "root@h2", "plain@h2", 1), says: "this is no root (user 65533)", code: 1},
		{name: "another architecture", nodes: bothHosts, says: `the architecture "riscv64"`, code: 1,
			do:   func() { b.on(t, 1, "mount --bind "+b.dir+"/uname /usr/bin/uname") },
			undo: func() { b.on(t, 1, "umount /usr/bin/uname") }},
		{name: "full disk", nodes: bothHosts, says: "the disk is full", code: 1,
			do:   func() { b.on(t, 1, "mount -t tmpfs -o size=1m tmpfs /var/cache") },
			undo: func() { b.on(t, 1, "umount /var/cache") }},
		{name: "the control interface", nodes: strings.Replace(bothHosts, "data=10.0.0.2", "data=10.9.2.2", 1), says: "carries the control connection", code: 1},
		{name: "the management network", nodes: "a=ssh://root@h1,b=ssh://root@h2", says: "no data address was given", code: 1},
		{name: "by way of management", nodes: "a=ssh://root@h1,b=ssh://root@h2?data=10.9.2.2", says: "data would go over the management network", code: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.do != nil {
				c.do()
			}
			o := b.run(t, 40*time.Second, "run", "contrail-windows", "--cells", "A,B", "--nodes", c.nodes, "--budget", "10s", "--out", filepath.Join(t.TempDir(), "run"))
			if c.undo != nil {
				c.undo()
			}
			if o.code != c.code || !strings.Contains(o.err, c.says) || o.took > 30*time.Second {
				t.Errorf("exit code %d after %s\n%s", o.code, o.took, o.err)
			}
		})
	}
	b.mustBeAsBefore(t, before)
}

// TestACutConnection drops all packets of control in the middle of a trial, so that neither side is told:
// the run ends in time, and the host that was cut off takes everything away by itself.
func TestACutConnection(t *testing.T) {
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	began := b.inATrial(t, "60s", func() { b.cut(t) }, func(o outcome) {
		if o.code != 1 || !strings.Contains(o.err, "node b") {
			t.Errorf("exit code %d\n%s", o.code, o.err)
		}
	}, func(cutAt time.Time) {
		b.mustBeFreeWithin(t, cutAt.Add(10*time.Second), before[1])
		t.Logf("everything was taken away %.1f s after the cut", time.Since(cutAt).Seconds())
	})
	if took := time.Since(began); took > 60*time.Second {
		t.Errorf("it took %s", took)
	}
	b.mustBeAsBefore(t, before)
}

// mustBeFreeWithin waits until the second host is as it was, its interface and its settings too, and no program of ours or of a cell runs there.
func (b *hostsBed) mustBeFreeWithin(t testing.TB, deadline time.Time, before string) {
	t.Helper()
	for {
		now, runs := b.state(t, 1), b.on(t, 1, "ps -e -o pid= -o args= | grep -E '[/]windtunnel|[v]router run|[q]emu-system' || true")
		switch {
		case now == before && runs == "" && !time.Now().After(deadline):
			return
		case time.Now().After(deadline):
			t.Errorf("10 s after the cut h2 still runs %q, and is not as it was:\n%s", runs, cmp.Diff(strings.Split(before, "\n"), strings.Split(now, "\n")))
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// cut drops all packets between the conductor and the second host.
func (b *hostsBed) cut(t testing.TB) {
	t.Helper()
	for _, way := range []string{"OUTPUT -o", "INPUT -i"} {
		must(t, append(append([]string{"nsenter", "-t", strconv.Itoa(b.conductor.pid), "-n", "iptables", "-A"}, strings.Fields(way)...), "mgmt2", "-j", "DROP")...)
	}
}

// killAgent kills the second host's agent.
func (b *hostsBed) killAgent(t testing.TB) {
	t.Helper()
	b.on(t, 1, "kill -9 $(pgrep -f '[w]indtunnel agent --node b')")
}

// TestAKilledAgentOnAHost: its host is swept over another connection.
func TestAKilledAgentOnAHost(t *testing.T) {
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	b.inATrial(t, "60s", func() { b.killAgent(t) }, func(o outcome) {
		if o.code != 1 || !strings.Contains(o.err, "node b") {
			t.Errorf("exit code %d\n%s", o.code, o.err)
		}
	}, nil)
	b.mustBeAsBefore(t, before)
}

// TestOneRunOnAHostAtATime: another is refused, and the first goes on with the programs that both were brought.
func TestOneRunOnAHostAtATime(t *testing.T) { measured(t, testOneRunOnAHostAtATime) }

func testOneRunOnAHostAtATime(t *attempt) {
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	second := func() {
		o := b.run(t, 40*time.Second, "run", "contrail-windows", "--cells", "A,B", "--nodes", bothHosts, "--budget", "10s")
		if o.code != 1 || !strings.Contains(o.err, "this host is taken by process") || !strings.Contains(o.err, "contrail-windows") {
			t.Errorf("the second: exit code %d\n%s", o.code, o.err)
		}
	}
	b.inATrial(t, "14s", second, func(o outcome) {
		if o.code != 0 {
			t.Errorf("the first: exit code %d\n%s", o.code, o.err)
		}
	}, nil)
	b.mustBeAsBefore(t, before)
}

// inATrial starts a run, does something in a trial of the cell with a vRouter, whose program for XDP on one host keeps the
// other's interface from its settings, and waits for the end.
func (b *hostsBed) inATrial(t testing.TB, budget string, do func(), judge func(outcome), meanwhile func(done time.Time)) (began time.Time) {
	t.Helper()
	return b.inATrialOf(t, []string{"contrail-windows", "--cells", "D", "--budget", budget}, 40*time.Second, do, judge, meanwhile)
}

// inATrialOf does the same with a run of these arguments, whose first trial comes within a limit.
func (b *hostsBed) inATrialOf(t testing.TB, args []string, limit time.Duration, do func(), judge func(outcome), meanwhile func(done time.Time)) (began time.Time) {
	t.Helper()
	var said bytes.Buffer
	out := filepath.Join(t.TempDir(), "run")
	cmd := b.in(b.conductor.pid, append([]string{filepath.Join(bin, "windtunnel"), "run", "--nodes", bothHosts, "--out", out}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &said, &said
	ended := startBound(t, cmd)
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if text, _ := os.ReadFile(filepath.Join(out, "run.jsonl")); bytes.Contains(text, []byte(`"record":"trial"`)) {
			break
		}
		select {
		case <-ended:
			t.Fatalf("the run ended before its first trial: %s", said.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("no trial came")
		}
	}
	began = time.Now()
	do()
	if meanwhile != nil {
		meanwhile(began)
	}
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		t.Fatal("the run did not end within 60 s")
	}
	judge(outcome{code: cmd.ProcessState.ExitCode(), err: said.String(), took: time.Since(began)})
	t.Logf("the run ended %.1f s after\n%s", time.Since(began).Seconds(), said.String())
	return began
}

func (b *hostsBed) states(t testing.TB) (all []string) {
	for i := range b.hosts {
		all = append(all, b.state(t, i))
	}
	return all
}

func (b *hostsBed) mustBeAsBefore(t testing.TB, before []string) {
	t.Helper()
	t = strictly(t)
	for host, was := range before {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			now := b.state(t, host)
			if now == was {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("h%d is not as it was:\n%s", host+1, cmp.Diff(strings.Split(was, "\n"), strings.Split(now, "\n")))
				break
			}
		}
	}
}

// TestDoctorOnHosts says what each has, and whether a suite runs there; nothing is taken.
func TestDoctorOnHosts(t *testing.T) {
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	o := b.run(t, time.Minute, "doctor", "contrail-windows", "--nodes", bothHosts)
	for _, says := range []string{"node a", "node b", "10.0.0.2/24, driver veth", "MTU 1400 of at most 65535", "netns", "cell D-vxlan", "link 10 Gbit/s", "differs from"} {
		if !strings.Contains(o.out, says) {
			t.Errorf("it does not say %q", says)
		}
	}
	if o.code != 0 {
		t.Errorf("exit code %d\n%s\n%s", o.code, o.out, o.err)
	}
	t.Log(o.out)
	b.mustBeAsBefore(t, before)
}
