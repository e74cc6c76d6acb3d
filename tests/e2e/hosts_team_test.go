//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// teamHosts are the nodes of suites whose cells may take two links.
const teamHosts = "a=ssh://root@h1?data=10.0.0.1+10.1.0.1,b=ssh://root@h2?data=10.0.0.2+10.1.0.2"

// hostsTeamSuite has flows over both links, and one whose link is pulled.
const hostsTeamSuite = `
suite: team-on-hosts
asks: Do flows between hosts take both of two links, and the other one when one is pulled?
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 16KiB, streams: 8, threads: 2}
cells:
  team: {path: {kind: team, by: route}, pairs: [{from: {container: one, on: a}, to: {container: two, on: b}}]}
  pulled: {like: team, path: {pull: on}, traffic: {kind: datagram, message: 200B, packets: 10k/s}}
`

// newTeamHosts is a bed of two hosts with two networks for data.
func newTeamHosts(t testing.TB) *hostsBed {
	t.Helper()
	b := newHosts(t)
	b.join(t)
	return b
}

// TestTeamBetweenHosts: a team's flows take both of the hosts' interfaces, a member is pulled and put back, and both hosts are then
// as before. With one interface each it is refused before anything was reached.
func TestTeamBetweenHosts(t *testing.T) { measured(t, testTeamBetweenHosts) }

func testTeamBetweenHosts(t *attempt) {
	besideOthers(t)
	b := newTeamHosts(t)
	before := b.states(t)
	suite, out := suiteFile(t, hostsTeamSuite), filepath.Join(t.TempDir(), "run")
	if o := b.run(t, 20*time.Second, "run", suite, "--cells", "team", "--nodes", bothHosts, "--budget", "5s"); o.code != 2 || !strings.Contains(o.err, "`data=ADDRESS+ADDRESS`") {
		t.Errorf("one interface each: exit code %d\n%s", o.code, o.err)
	}
	unreached := func() []string {
		return unseen(hostsTeamSuite, trialsOf(t, out), func(t result.Trial) bool {
			first, second := carried(t, "data"), carried(t, "data2")
			switch pulls := t.Nodes["b"].Pulls; t.Cell {
			case "team": // whose flows may all have taken one link, once in 128 trials
				return first > 1e5 && second > 1e5
			default:
				return first+second > 1e4 && len(pulls) == 1 && pulls[0].Device == "data" && pulls[0].To > pulls[0].From
			}
		})
	}
	cmd := b.in(b.conductor.pid, filepath.Join(bin, "windtunnel"), "run", suite, "--nodes", teamHosts, "--budget", "2m", "--window", "200ms", "--out", out)
	said, errs := untilSeen(t, cmd, 3*time.Minute, func() bool { return len(unreached()) == 0 })
	if missed := unreached(); len(missed) > 0 {
		t.Errorf("not measured: %v; exit code %d\n%s\n%s", missed, cmd.ProcessState.ExitCode(), said, errs)
	}
	b.mustBeAsBefore(t, before)
}

// carried is what came to the second host by an interface, in bytes.
func carried(t result.Trial, device string) uint64 {
	for _, l := range t.Nodes["b"].Links {
		if l.Device == device && l.Role == result.RoleWire {
			return l.RxBytes
		}
	}
	return 0
}

// TestATeamOfAHostThatIsLost: both interfaces are put back on a host whose agent is killed, or whose connection is cut, while both are taken.
func TestATeamOfAHostThatIsLost(t *testing.T) { measured(t, testATeamOfAHostThatIsLost) }

func testATeamOfAHostThatIsLost(t *attempt) {
	needsHostsSoak(t)
	for _, c := range []struct{ cell, how string }{{"team", "killed"}, {"pulled", "killed"}, {"team", "cut"}} {
		t.Run(c.cell+" "+c.how, func(t *attempt) {
			b := newTeamHosts(t)
			before := b.states(t)
			lose := func() {
				for _, device := range []string{"data", "data2"} {
					if said := b.on(t, 1, "ip link show "+device+" 2>&1 || true"); !strings.Contains(said, "does not exist") {
						t.Errorf("the host still has %s: %s", device, said)
					}
				}
				if c.how == "cut" {
					b.cut(t)
				} else {
					b.killAgent(t)
				}
			}
			b.inATrialOf(t, []string{suiteFile(t, hostsTeamSuite), "--nodes", teamHosts, "--cells", c.cell, "--budget", "60s", "--window", "500ms"}, 40*time.Second, lose, func(o outcome) {
				if o.code != 1 || !strings.Contains(o.err, "node b") {
					t.Errorf("exit code %d\n%s", o.code, o.err)
				}
			}, nil)
			b.mustBeAsBefore(t, before)
		})
	}
}

// TestATeamOfHostsLikeASimulatedOne: its suite's cells have the ratios that they have between simulated nodes, its pulled cable costs an
// outage, and doctor shows both interfaces. One that carries the control connection is refused at the second place, too.
func TestATeamOfHostsLikeASimulatedOne(t *testing.T) { measured(t, testATeamOfHostsLikeASimulatedOne) }

func testATeamOfHostsLikeASimulatedOne(t *attempt) {
	needsHostsSoak(t)
	const cells = "1500-single-none-half,9000-single-none-half,team-1500,team-9000,team-pulled"
	b := newTeamHosts(t)
	before := b.states(t)
	o := b.run(t, time.Minute, "doctor", "converged-jumbo", "--nodes", teamHosts)
	for _, says := range []string{"10.0.0.2/24, driver veth", "10.1.0.2/24, driver veth", "link data2 10 Gbit/s", "MTU data2 1300"} {
		if !strings.Contains(o.out, says) {
			t.Errorf("doctor does not say %q:\n%s", says, o.out)
		}
	}
	o = b.run(t, time.Minute, "run", "converged-jumbo", "--cells", "team-1500", "--nodes", strings.Replace(teamHosts, "+10.1.0.2", "+10.9.2.2", 1), "--budget", "10s")
	if o.code != 1 || !strings.Contains(o.err, "carries the control connection") {
		t.Errorf("the control interface as a member: exit code %d\n%s", o.code, o.err)
	}
	simulated := func() report {
		return parsed(t, windtunnel(t, 3*time.Minute, "run", "converged-jumbo", "--cells", cells, "--budget", "50s", "--json"))
	}
	earlier := simulated()
	o = b.run(t, 4*time.Minute, "run", "converged-jumbo", "--cells", cells, "--nodes", teamHosts, "--budget", "90s", "--json")
	real := parsed(t, o)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.err)
	}
	b.mustBeAsBefore(t, before)
	for name, cell := range real.Cells {
		if cell.Status != "measured" || cell.Trials < 2 {
			t.Errorf("%s: %s (%s), %d trials\n%s", name, cell.Status, cell.Reason, cell.Trials, o.err)
		}
	}
	sameRatios(t, real, 1, earlier, simulated())
	t.Log(o.out)
}
