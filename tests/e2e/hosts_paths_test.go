//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// hostsSwitchSuite has what takes packets from one interface to the other, or reads them by packet sockets, beside a bridge.
const hostsSwitchSuite = `
suite: switches-on-hosts
asks: Does traffic pass what reads the hosts' interfaces itself?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 16KiB}
cells:
  bridge: {path: bridge, pairs: [{from: {container: one, on: a}, to: {container: two, on: b}}]}
  redirect: {like: bridge, path: redirect}
  testpmd: {like: bridge, path: testpmd}
  ports: {path: testpmd, traffic: {kind: frame, size: 64B}, pairs: [{from: {container: one, on: a}, to: {container: two, on: a}}]}
  apart: {like: bridge, path: testpmd, traffic: {kind: frame, size: 64B, packets: 5000/s}}
  apart-poll: {like: apart, path: {kind: vrouter, mode: poll}, traffic: {kind: frame, size: 64B, packets: 0/s}}
  apart-dpdk: {like: apart, path: ovs-dpdk}
  frames: {like: redirect, traffic: {kind: frame, size: 64B}}
  dpdk: {like: bridge, path: ovs-dpdk}
  dpdk-vxlan: {like: bridge, path: {kind: ovs-dpdk, encapsulation: vxlan}}
`

// hostsUserSuite has machines that are reached by ports of their node, from the other one or from it, and one that reaches that.
const hostsUserSuite = `
suite: user-networks-on-hosts
asks: Are machines on hosts reached by ports?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 16KiB}
cells:
  qemu: {path: user-network, pairs: [{from: a, to: {vm: one, on: b}}]}
  back: {path: user-network, pairs: [{from: {vm: one, on: b}, to: a}]}
  passt: {like: qemu, path: {kind: user-network, by: passt}}
  published: {like: qemu, path: {kind: vm-published-port, network: qemu}}
  host-only: {path: vm-published-port, pairs: [{from: b, to: {vm: one, on: b}}]}
`

func needsDPDKSwitches(t testing.TB) {
	t.Helper()
	needsOpenVSwitch(t)
	for program, install := range map[string]string{"dpdk-testpmd": "dpdk-dev", "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk": "openvswitch-switch-dpdk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("not measured here: needs %s: apt-get install %s", program, install)
		}
	}
}

// TestSwitchesBetweenHosts are measured there, one after the other in one stack, and both hosts are then as before.
func TestSwitchesBetweenHosts(t *testing.T) { measured(t, testSwitchesBetweenHosts) }

func testSwitchesBetweenHosts(t *attempt) {
	needsHostsSoak(t)
	needsPollMode(t)
	needsDPDKSwitches(t)
	besideOthers(t)
	b := newHosts(t)
	before, dir := b.states(t), filepath.Join(t.TempDir(), "run")
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", suiteFile(t, hostsSwitchSuite), "--nodes", bothHosts, "--window", "500ms", "--budget", "8m", "--out", dir)
	said, errs := untilSeen(t, cmd, 10*time.Minute, func() bool { return len(unpassed(trialsOf(t, dir))) == 0 })
	if missed := unpassed(trialsOf(t, dir)); len(missed) > 0 {
		t.Errorf("without two trials that count, and in which traffic passed: %v; exit code %d\n%s\n%s", missed, cmd.ProcessState.ExitCode(), said, errs)
	}
	oneWindow(t, dir)
	for _, trial := range trialsOf(t, dir) {
		for _, pair := range trial.Pairs {
			if strings.HasPrefix(trial.Cell, "apart") && len(pair.Receiver.Latencies) > 0 {
				t.Errorf("%s: by two clocks, frames were on their way for %+v", trial.Cell, pair.Receiver.Latencies)
			}
		}
	}
	b.mustBeAsBefore(t, before)
}

// hostsOfTwoCPUs is a bed whose hosts have two of this machine's CPUs each, the same ones, and data interfaces of two queues, which their
// owners steer.
func hostsOfTwoCPUs(t testing.TB) *hostsBed {
	t.Helper()
	if runtime.NumCPU() < 2 {
		t.Skip("not measured here: needs two CPUs")
	}
	b := hostsWith(t, 2, func(int) string { return cpuOf(t, 0) + "," + cpuOf(t, 1) })
	for host := range b.hosts {
		b.on(t, host, `ethtool -L data rx 2 tx 2; cd /sys/class/net/data/queues; echo 2 >rx-1/rps_cpus; echo 1 >tx-1/xps_cpus; echo 2 >tx-0/xps_cpus`)
		b.awaitCarriers(t, host)
	}
	return b
}

// unpassed are the suite's cells without two trials that count, each with 1 Mbit/s at least.
func unpassed(trials []result.Trial) []string {
	passed := map[string]int{}
	for _, trial := range trials {
		if trial.Excluded != "" || len(trial.Pairs) == 0 {
			continue
		}
		if r := trial.Pairs[0].Receiver; float64(r.Bytes)*8 >= 1e6*r.WindowSeconds {
			passed[trial.Cell]++
		}
	}
	return slices.DeleteFunc(strings.Fields(wantedCells(hostsSwitchSuite)), func(cell string) bool { return passed[cell] >= 2 })
}

// TestJumboBetweenHosts: of its suite the cells without VMQ run, on interfaces that are given one queue, and with work that is spread.
func TestJumboBetweenHosts(t *testing.T) { measured(t, testJumboBetweenHosts) }

func testJumboBetweenHosts(t *attempt) {
	needsHostsSoak(t)
	besideOthers(t)
	b := hostsOfTwoCPUs(t)
	before := b.states(t)
	o := b.run(t, 2*time.Minute, "run", "converged-jumbo", "--cells", "1500-single-none-half,9000-single-none-half,requests-4K-9000,1500-vmq-none-half,1500-single-both-half", "--nodes", bothHosts, "--budget", "40s", "--window", "200ms", "--json")
	report := parsed(t, o)
	for name, least := range map[string]float64{"1500-single-none-half": 1000, "9000-single-none-half": 1515, "requests-4K-9000": 1, "1500-single-both-half": 1000} {
		if cell := report.Cells[name]; cell.Status != "measured" || cell.Trials < 2 || cell.Wire.Mean == nil || *cell.Wire.Mean < least {
			t.Errorf("%s: %+v\n%s", name, cell, o.err)
		}
	}
	if cell := report.Cells["1500-vmq-none-half"]; cell.Status == "measured" || !strings.Contains(cell.Reason, "needs receive queues by destination") {
		t.Errorf("a queue for each adapter: %+v", cell)
	}
	want := result.HostQueueing{Node: "a", Device: "data", Queues: 1, SendQueues: 2, Receive: result.ReceiveByRPS, Send: result.SendByXPS}
	if q := report.Cells["1500-single-both-half"].Queueing; q == nil || len(q.Hosts) != 2 || q.Hosts[0] != want {
		t.Errorf("how work was spread: %+v, not %+v", q, want)
	}
	b.mustBeAsBefore(t, before)
}

// TestUserNetworksBetweenHosts: machines are reached by ports of the hosts' data addresses, and nothing of them stays.
func TestUserNetworksBetweenHosts(t *testing.T) { measured(t, testUserNetworksBetweenHosts) }

func testUserNetworksBetweenHosts(t *attempt) {
	needsHostsSoak(t)
	suite, out := needsVMs(t, hostsUserSuite), filepath.Join(t.TempDir(), "run")
	needsPasst(t)
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", suite, "--nodes", bothHosts, "--window", "250ms", "--budget", "8m", "--out", out)
	unreached := func() []string {
		return unseen(hostsUserSuite, trialsOf(t, out), func(t result.Trial) bool { return t.Pairs[0].Receiver.Bytes > 0 })
	}
	said, errs := untilSeen(t, cmd, 10*time.Minute, func() bool { return len(unreached()) == 0 })
	if missed := unreached(); len(missed) > 0 {
		t.Errorf("not measured: %v; exit code %d\n%s\n%s", missed, cmd.ProcessState.ExitCode(), said, errs)
	}
	b.mustBeAsBefore(t, before)
	b.mustRunNothing(t)
}

func needsPasst(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("passt"); err != nil {
		t.Skip("not measured here: needs passt: apt-get install passt")
	}
}

// TestCellsOnAHostThatIsLost: nothing of a cell stays on a host whose agent is killed, or whose connection is cut, in the middle of a trial.
func TestCellsOnAHostThatIsLost(t *testing.T) { measured(t, testCellsOnAHostThatIsLost) }

func testCellsOnAHostThatIsLost(t *attempt) {
	needsHostsSoak(t)
	needsPollMode(t)
	needsDPDKSwitches(t)
	needsPasst(t)
	machines := needsVMs(t, hostsUserSuite)
	for _, c := range []struct{ suite, cell, how string }{
		{"converged-jumbo", "1500-single-both-half", "killed"},
		{"converged-jumbo", "1500-single-both-half", "cut"},
		{suiteFile(t, hostsSwitchSuite), "redirect", "killed"},
		{suiteFile(t, hostsSwitchSuite), "testpmd", "cut"},
		{suiteFile(t, hostsSwitchSuite), "dpdk-vxlan", "killed"},
		{machines, "passt", "killed"},
		{machines, "published", "cut"},
	} {
		t.Run(c.cell+" "+c.how, func(t *attempt) {
			b := hostsOfTwoCPUs(t)
			before := b.states(t)
			lose := func() { b.killAgent(t) }
			if c.how == "cut" {
				lose = func() { b.cut(t) }
			}
			b.inATrialOf(t, []string{c.suite, "--cells", c.cell, "--budget", "4m", "--window", "250ms"}, 3*time.Minute, lose, func(o outcome) {
				if o.code != 1 || !strings.Contains(o.err, "node b") {
					t.Errorf("exit code %d\n%s", o.code, o.err)
				}
			}, nil)
			b.mustBeAsBefore(t, before)
			b.mustRunNothing(t)
		})
	}
}

// mustRunNothing looks for programs of cells on the hosts.
func (b *hostsBed) mustRunNothing(t testing.TB) {
	t.Helper()
	t = strictly(t)
	for host := range b.hosts {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			left := b.on(t, host, "ps -e -o pid= -o comm= | grep -E 'qemu|passt|testpmd|ovs|frame-poll' || true")
			if left == "" {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("h%d still runs\n%s", host+1, left)
				break
			}
		}
	}
}
