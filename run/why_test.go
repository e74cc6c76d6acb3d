package run

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/scenario"
)

// tried is what a plan tries: the cells that it adds, with what each changes, and the reasons of what is not tried.
func tried(p Plan) (cells, untested map[string]string) {
	cells, untested = map[string]string{}, map[string]string{}
	for _, c := range p.Cells {
		if i := c.Record.Intervention; i != nil {
			cells[c.Record.Name] = i.Says
		}
	}
	for _, u := range p.Suite.Why.Untested {
		untested[u.Factor] = u.Reason
	}
	return cells, untested
}

func TestSuspectsOfAnOverlay(t *testing.T) {
	p := planned(t, "contrail-windows", small, Settings{Cells: []string{"B", "D"}, Why: &Why{Ratio: "D/B"}})
	cells, untested := tried(p)
	for name, says := range map[string]string{
		"D+gro": "GRO off in both", "B+gro": "GRO off in both", "D+tso": "TSO off at the endpoints in both", "B+tso": "TSO off",
		"D+checksum": "in software", "B+checksum": "in software", "D+mtu": "MTU 9000 in both", "B+mtu": "MTU 9000",
		"D+encapsulation": "encapsulation none, as in B",
	} {
		if !strings.Contains(cells[name], says) {
			t.Errorf("%s: %q, want %q", name, cells[name], says)
		}
		delete(cells, name)
	}
	if len(cells) > 0 {
		t.Errorf("tries %v as well", cells)
	}
	for factor, why := range map[string]string{
		"steering": "one CPU", "queues": "one CPU", "message": "128KiB at once", "cpu": "no other to give it",
		"quota": "limits nobody's CPU time",
	} {
		if !strings.Contains(untested[factor], why) {
			t.Errorf("%s: %q, want %q", factor, untested[factor], why)
		}
		delete(untested, factor)
	}
	if len(untested) > 0 {
		t.Errorf("does not try %v either", untested)
	}
	ratios := map[string]bool{}
	for _, r := range p.blockRatios() {
		ratios[r.Name()] = true
	}
	for _, want := range []string{"D/B", "D+gro/B+gro", "D+encapsulation/B"} {
		if !ratios[want] {
			t.Errorf("%s is not measured to a precision: %v", want, slices.Sorted(maps.Keys(ratios)))
		}
	}
}

func TestSuspectsAreNamedInThePlan(t *testing.T) {
	var text bytes.Buffer
	if err := Describe(&text, planned(t, "contrail-windows", small, Settings{Why: &Why{Ratio: "D/B", Factors: []string{"gro", "cpu"}}})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"suspects of D/B", "  D+gro: GRO off in both", "  cpu is not tried: a node has one CPU"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

const suspects = `
suite: suspects
nodes: {a: {}, b: {}}
traffic: {kind: stream, message: 128KiB, streams: 4}
path: bridge
cells:
  A: {pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
  off: {like: A, segmentation: off}
  cut: {like: A, segmentation: no-lso}
  unjoined: {like: A, wire: {gro: off}}
  summed: {like: A, checksum: software}
  small: {like: A, wire: {mtu: 600}, traffic: {message: 1390B, nodelay: true}}
  slow: {like: A, wire: {rate: 1Gbit/s, loss: 1%, steer: sender}, traffic: {receive-buffer: 64KiB}}
  tunnel: {like: A, path: vxlan}
  routed: {like: A, path: {kind: vrouter, encapsulation: mplsoudp, receive: xdp}}
  wire: {path: wire, pairs: [{from: a, to: b}]}
  near: {pairs: [{from: {container: s, on: a}, to: {container: r, on: a}}]}
  asks: {like: A, traffic: {kind: ping}}
  slower: {like: slow, segmentation: no-lso}
  half: {path: {kind: host-network, cpus: 0.5}, pairs: [{from: {container: s, on: a}, to: b}]}
  half-too: {like: half, traffic: {nodelay: true}}
  all: {path: host-network, pairs: [{from: {container: s, on: a}, to: b}]}
`

// TestSuspectsByWhatDiffers: each cell against A has its own differences as suspects, as A has them.
func TestSuspectsByWhatDiffers(t *testing.T) {
	suite, err := scenario.Parse([]byte(suspects), "suspects.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	for ratio, want := range map[string]struct{ tried, not []string }{
		"off/A":         {[]string{"off+gro", "off+tso", "off+segmentation"}, []string{"message"}},
		"cut/A":         {[]string{"cut+tso", "cut+gro", "A+gro"}, []string{"encapsulation"}},
		"unjoined/A":    {[]string{"unjoined+gro", "unjoined+tso", "A+tso"}, nil},
		"summed/A":      {[]string{"summed+checksum", "summed+gro"}, nil},
		"small/A":       {[]string{"small+mtu", "small+message", "small+nodelay"}, nil},
		"slow/A":        {[]string{"slow+rate", "slow+loss", "slow+steering", "slow+receive-buffer"}, nil},
		"tunnel/A":      {[]string{"tunnel+encapsulation", "tunnel+mtu", "A+mtu"}, nil},
		"routed/tunnel": {[]string{"routed+encapsulation"}, nil},
		"A/wire":        {[]string{"A+gro", "wire+gro", "A+checksum", "wire+checksum"}, []string{"tso", "encapsulation"}},
		"A/near":        {[]string{"A+tso", "near+tso"}, []string{"gro"}},
		"asks/A":        {nil, []string{"load"}},
		"slower/slow":   {[]string{"slower+rate", "slow+rate", "slower+loss", "slow+loss", "slower+tso"}, []string{"quota"}},
		"half/all":      {[]string{"half+quota"}, nil},
		"half/half-too": {[]string{"half+quota", "half-too+quota"}, nil},
		"all/wire":      {nil, []string{"quota"}},
	} {
		p, err := MakePlan(suite, small, Settings{Budget: time.Minute, Why: &Why{Ratio: ratio}})
		if err != nil {
			t.Errorf("%s: %v", ratio, err)
			continue
		}
		cells, untested := tried(p)
		for _, name := range want.tried {
			if cells[name] == "" {
				t.Errorf("%s does not try %s: %v, not %v", ratio, name, slices.Sorted(maps.Keys(cells)), untested)
			}
		}
		for _, factor := range want.not {
			if untested[factor] == "" {
				t.Errorf("%s tries %s: %v", ratio, factor, slices.Sorted(maps.Keys(cells)))
			}
		}
		for name := range cells {
			of, _, _ := strings.Cut(name, "+")
			if p.Cells[slices.IndexFunc(p.Cells, func(c PlannedCell) bool { return c.Record.Name == name })].Record.Intervention.Of != of {
				t.Errorf("%s is of another cell", name)
			}
		}
	}
}

// TestSuspectsOnSeveralCPUs are also steering, queues and threads.
func TestSuspectsOnSeveralCPUs(t *testing.T) {
	suite, err := scenario.Parse([]byte(suspects), "suspects.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(suite, large, Settings{Budget: time.Minute, Why: &Why{Ratio: "tunnel/A"}})
	if err != nil {
		t.Fatal(err)
	}
	cells, untested := tried(p)
	for _, name := range []string{"tunnel+steering", "A+steering", "tunnel+queues", "A+queues", "tunnel+cpu", "A+cpu"} {
		if cells[name] == "" {
			t.Errorf("does not try %s: %v", name, untested)
		}
	}
}

func TestSuspectsThatCannotBe(t *testing.T) {
	suite := shipped(t, "contrail-windows")
	for says, why := range map[string]Why{
		"unknown cell `Z`":                    {Ratio: "Z/A"},
		"is always 1":                         {Ratio: "A/A"},
		"needs `/`":                           {Ratio: "A"},
		"unknown factor `grow`; did you mean": {Ratio: "B/A", Factors: []string{"grow"}},
		"ask for another metric":              {Ratio: "found: B/A"},
	} {
		_, err := MakePlan(suite, small, Settings{Budget: time.Minute, Why: &why})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %s", why, err, says)
		}
	}
}

// TestASuspectsCellsAreOnlyThoseThatChange: what a factor leaves as it was is not measured twice.
func TestASuspectsCellsAreOnlyThoseThatChange(t *testing.T) {
	suite, err := scenario.Parse([]byte(suspects), "suspects.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(suite, small, Settings{Budget: time.Minute, Why: &Why{Ratio: "routed/A", Factors: []string{"encapsulation"}}})
	if err != nil {
		t.Fatal(err)
	}
	if cells, untested := tried(p); len(cells) != 1 || cells["routed+encapsulation"] == "" {
		t.Errorf("%v, not %v", cells, untested)
	}
	for _, c := range p.Cells {
		if i := c.Record.Intervention; i != nil && (i.Ratio != result.Ratio{Metric: result.ReceivedRate, Over: "routed", Under: "A"} || i.Both) {
			t.Errorf("%+v", i)
		}
	}
}
