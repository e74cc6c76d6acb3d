package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/suites"
	"windtunnel/testbed"
)

func shipped(t *testing.T, name string) scenario.Spec {
	t.Helper()
	text, err := suites.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := scenario.Parse(text, name+".yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func planned(t *testing.T, suite string, host Host, settings Settings) Plan {
	t.Helper()
	if settings.Budget == 0 {
		settings.Budget = 3 * time.Minute
	}
	p, err := MakePlan(shipped(t, suite), host, settings)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var small = Host{CPUs: []int{0, 1}, MemoryBytes: 24 << 30, Kernel: "6.18.44"}
var large = Host{CPUs: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, MemoryBytes: 64 << 30, Kernel: "6.18.44"}

// TestEveryShippedSuiteIsPlanned lays out every suite on a small and a large
// host; every cell that will run has a topology and an MTU that fits its wire.
func TestEveryShippedSuiteIsPlanned(t *testing.T) {
	for _, name := range suites.List() {
		for _, host := range []Host{small, large} {
			for _, cell := range planned(t, name, host, Settings{}).Runnable() {
				r := cell.Record
				if r.Topology == "" || r.MTU.Endpoint == 0 || r.MTU.Endpoint > r.MTU.Wire {
					t.Errorf("%s %s: MTU %+v, topology %q", name, r.Name, r.MTU, r.Topology)
				}
			}
		}
	}
}

func TestFiveBlocksFitAMinute(t *testing.T) {
	p := planned(t, "contrail-windows", small, Settings{Budget: time.Minute})
	if p.Times.BlocksPlanned < 5 || p.Times.WindowSeconds != 1 {
		t.Errorf("%+v", p.Times)
	}
}

func TestWindowsGrowOnlyWhenBlocksAreMany(t *testing.T) {
	for budget, window := range map[time.Duration]float64{time.Minute: 1, 20 * time.Minute: 3} {
		times := planned(t, "contrail-windows", small, Settings{Budget: budget}).Times
		if times.WindowSeconds != window {
			t.Errorf("a budget of %s has windows of %g s", budget, times.WindowSeconds)
		}
	}
	times := planned(t, "contrail-windows", small, Settings{Budget: 3 * time.Minute, Window: 15 * time.Second}).Times
	if times.WindowSeconds != 15 || times.BlocksPlanned >= 5 {
		t.Errorf("--window 15s: %+v", times)
	}
}

func TestFewBlocksAreDoubted(t *testing.T) {
	p := planned(t, "contrail-windows", small, Settings{Budget: 20 * time.Second})
	if len(p.Doubts) != 1 || p.Doubts[0].Kind != "few-blocks" {
		t.Errorf("%+v", p.Doubts)
	}
}

// TestTheBudgetThatIsNamedIsEnough: a plan with too few blocks says what would hold them.
func TestTheBudgetThatIsNamedIsEnough(t *testing.T) {
	for _, name := range []string{"nfv-pps", "nfv-pps-flows", "contrail-windows"} {
		few := planned(t, name, small, Settings{Budget: 5 * time.Second, Precision: 0.05})
		enough := few.leastBudget()
		if again := planned(t, name, small, Settings{Budget: enough, Precision: 0.05}); again.Times.BlocksPlanned < again.Times.MinimumBlocks {
			t.Errorf("%s: %s hold %d blocks", name, enough, again.Times.BlocksPlanned)
		}
	}
}

func TestUnmetRequirementsAreNotMeasuredHere(t *testing.T) {
	p := planned(t, "contrail-vmq", small, Settings{})
	skipped := map[string]string{}
	for _, cell := range p.Cells {
		skipped[cell.Record.Name] = cell.Record.Skipped
	}
	if !strings.Contains(skipped["E"], "needs 8 CPUs a node, node a has 1") || skipped["B"] != "" {
		t.Errorf("%v", skipped)
	}
	for _, cell := range planned(t, "contrail-vmq", large, Settings{}).Cells {
		if cell.Record.Skipped != "" {
			t.Errorf("on 16 CPUs, cell %s is skipped: %s", cell.Record.Name, cell.Record.Skipped)
		}
	}
}

func TestAMissingFeatureSkipsThePathsThatNeedIt(t *testing.T) {
	host := small
	host.Missing = map[string]string{"vxlan": "making a VXLAN device: operation not supported"}
	for _, cell := range planned(t, "contrail-windows", host, Settings{}).Cells {
		if want := cell.Record.Name == "D-vxlan"; (cell.Record.Skipped != "") != want {
			t.Errorf("cell %s: skipped %q", cell.Record.Name, cell.Record.Skipped)
		}
	}
}

func TestHypothesesOnSkippedCellsAreNotMeasured(t *testing.T) {
	host := small
	host.Missing = map[string]string{"bpf": "no BPF"}
	p := planned(t, "contrail-windows", host, Settings{})
	for _, h := range p.Hypotheses {
		asksD := strings.Contains(h.Holds.Text, "D") || strings.Contains(h.Holds.Text, "F")
		if asksD && h.NotMeasured == "" {
			t.Errorf("%s is judged, without the vRouter: %s", h.ID, h.Holds.Text)
		}
	}
}

func TestOneCPUIsNotEnoughUnlessShared(t *testing.T) {
	one := Host{CPUs: []int{3}}
	p := planned(t, "wire-aa", one, Settings{})
	if len(p.Runnable()) != 0 {
		t.Error("two nodes run on one CPU though the suite does not allow it")
	}
	spec := shipped(t, "wire-aa")
	for i := range spec.Nodes {
		spec.Nodes[i].SharedCPUs = true
	}
	p, err := MakePlan(spec, one, Settings{Budget: time.Minute})
	if err != nil || len(p.Runnable()) != 2 || len(p.Doubts) != 2 || p.Doubts[0].Kind != "shared-cpus" {
		t.Errorf("%v %+v", err, p.Doubts)
	}
}

func TestCPUsAreDealtOut(t *testing.T) {
	shares, err := shareCPUs([]int{7, 1, 3, 5, 9}, []scenario.Node{{Name: "a"}, {Name: "b"}})
	if err != nil || len(shares[0].cpus)+len(shares[1].cpus) != 5 || shares[0].cpus[0] != 1 || shares[1].cpus[0] != 5 {
		t.Errorf("%+v %v", shares, err)
	}
	if _, err := shareCPUs(nil, []scenario.Node{{Name: "a"}}); err == nil {
		t.Error("no CPU is enough")
	}
}

func TestWireOverride(t *testing.T) {
	for _, cell := range planned(t, "overlay", small, Settings{Wire: "memory"}).Cells {
		if cell.Record.Wire != "memory" {
			t.Errorf("cell %s has a %s wire", cell.Record.Name, cell.Record.Wire)
		}
	}
}

func TestKernelReleases(t *testing.T) {
	for _, c := range []struct {
		release, least string
		older          bool
	}{
		{"5.15.0-91-generic", "6.8", true}, {"6.18.44-x", "6.8", false}, {"6.8.0", "6.8", false},
		{"6.8-rc1", "6.8.1", true}, {"garbage", "5.15", true}, {"10.0", "9.99.99", false},
	} {
		if olderThan(c.release, c.least) != c.older {
			t.Errorf("olderThan(%s, %s) is not %v", c.release, c.least, c.older)
		}
	}
}

func TestWhatSpoilsATrial(t *testing.T) {
	good := func() result.Trial {
		end := result.PairEnd{WindowSeconds: 1, Bytes: 1}
		return result.Trial{WindowSeconds: 1, Pairs: []result.PairSample{{From: "s", To: "r", Sender: end, Receiver: end}},
			Nodes: map[string]result.NodeSample{"a": {WindowSeconds: 1, CPUs: []result.CPUSample{{Steal: 0.04}},
				Links: []result.LinkSample{{Place: "a", Device: "nic0"}}}}}
	}
	for want, spoil := range map[string]func(*result.Trial){
		"":                                       func(*result.Trial) {},
		"the sender in s: died":                  func(t *result.Trial) { t.Pairs[0].Sender.Error = "died" },
		"the receiver in r: died":                func(t *result.Trial) { t.Pairs[0].Receiver.Error = "died" },
		"nothing reached the receiver in r":      func(t *result.Trial) { t.Pairs[0].Receiver.Bytes = 0 },
		"6 % of CPU 0 of node a was stolen":      func(t *result.Trial) { t.Nodes["a"].CPUs[0].Steal = 0.06 },
		"the window of node a took 0.82 s, not":  func(t *result.Trial) { t.Nodes["a"] = result.NodeSample{WindowSeconds: 0.82} },
		"the window of node b took 0.00 s, not":  func(t *result.Trial) { t.Nodes["b"] = result.NodeSample{} },
		"the window of the sender in s took 1.2": func(t *result.Trial) { t.Pairs[0].Sender.WindowSeconds = 1.2 },
		"the window of the receiver in r took 1.21 s, not": func(t *result.Trial) {
			t.Pairs[0].Receiver.WindowSeconds, t.Pairs[0].Receiver.Arrived = 1.21, &result.Arrived{Backlog: 0.05}
		},
		"link nic0 in a went down within the w": func(t *result.Trial) { t.Nodes["a"].Links[0].CarrierChanges = 2 },
	} {
		trial := good()
		spoil(&trial)
		if got := spoiled(trial); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A receiver's window is as much longer as a queue on the way grew meanwhile: that is the path's, and the trial one of it.
func TestAQueueThatGrewSpoilsNothing(t *testing.T) {
	end := result.PairEnd{WindowSeconds: 1, Bytes: 1}
	slow := end
	slow.WindowSeconds, slow.Arrived = 1.21, &result.Arrived{Backlog: 0.214}
	for name, p := range map[string]result.PairSample{"forth": {Sender: end, Receiver: slow}, "back": {Sender: slow, Receiver: end}} {
		if why := spoiled(result.Trial{WindowSeconds: 1, Pairs: []result.PairSample{p}}); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// A published port is one: what has a port for each of its threads is refused before the machine is touched.
func TestDatagramsOfManyPortsAreRefused(t *testing.T) {
	for threads, want := range map[int]string{1: "", 2: "take `threads: 1`"} {
		text := fmt.Sprintf(`
suite: ports
nodes: {a: {}, b: {}}
traffic: {kind: datagram, flows: 4, threads: %d}
cells:
  A: {path: published-port, pairs: [{from: a, to: {container: s, on: b}}]}
`, threads)
		suite, err := scenario.Parse([]byte(text), "ports.yaml", Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		_, err = MakePlan(suite, Host{CPUs: []int{0, 1}}, Settings{Budget: time.Minute})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d threads: %v, not %q", threads, err, want)
		}
	}
}

// TestACellsOwnWindow is its trials', and the planner's blocks have room for it.
func TestACellsOwnWindow(t *testing.T) {
	const text = `
suite: windows
nodes: {a: {}, b: {}}
traffic: {kind: stream}
cells:
  short: {path: wire, pairs: [{from: a, to: b}]}
  long: {path: bridge, window: 6s, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
`
	spec, err := scenario.Parse([]byte(text), "windows.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(spec, small, Settings{Budget: 2 * time.Minute, Precision: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	short, long := p.Cells[0].trial(p.Times), p.Cells[1].trial(p.Times)
	if long.WindowSeconds != 6 || long.WarmupSeconds != 0.5 || short.WindowSeconds != p.Times.WindowSeconds || short.WindowSeconds > 3 {
		t.Errorf("%+v and %+v", short, long)
	}
	block := blockTime(p.Times, p.Cells)
	if block < 7*time.Second || block > 11*time.Second || p.Times.BlocksPlanned != int((2*time.Minute-closingTime-p.setUp()-p.generators()*calibrationTime)/block) {
		t.Errorf("%d blocks of %s", p.Times.BlocksPlanned, block)
	}
	var said strings.Builder
	if err := Describe(&said, p); err != nil || !strings.Contains(said.String(), "those of cell long have a window of 6s") {
		t.Error(said.String(), err)
	}
	again, err := MakePlan(spec, small, Settings{Budget: 2 * time.Minute, Precision: 0.05, Window: time.Second})
	if err != nil || again.Cells[1].trial(again.Times).WindowSeconds != 6 || again.Times.WindowSeconds != 1 {
		t.Errorf("%+v, %v", again.Times, err)
	}
}

// A plan says which cells will not run, and why; what it counts are the others.
func TestAPlanSaysWhatWillNotRun(t *testing.T) {
	host := small
	host.Missing = map[string]string{testbed.FeatureDesktopEngine: "this is Linux"}
	p := planned(t, "container-published-port", host, Settings{})
	var text strings.Builder
	if err := Describe(&text, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n20 cells, ",
		"8 of the suite's 28 cells do not run, and the plan counts no time for that: windows-tcp, windows-udp-500M, hyperkit-tcp,",
		": needs desktop-engine: this is Linux\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if says := p.Untried(host.Missing); !strings.Contains(says, "whether this machine has bridge, macvlan is not known without root") {
		t.Errorf("%q", says)
	}
	if says := p.Untried(map[string]string{testbed.FeatureBridge: "no", testbed.FeatureMacvlan: "no"}); says != "" {
		t.Errorf("%q", says)
	}
}
