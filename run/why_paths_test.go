package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/datapath/paths"
	"windtunnel/scenario"
)

// suspectsOnAPath are two cells of one path that differ by nothing but a loss of the wire, or, where there is none to be set,
// by the size of a message.
const suspectsOnAPath = `
suite: suspects
nodes: {a: {%s}, b: {%s}}
traffic: {kind: %s}
cells:
  A: {path: %s, pairs: [{from: %s, to: %s}]}
  B: {like: A, %s}
`

// TestEveryFactorIsTriedOrNamedOnEveryPath: what a path does not let be changed is said with the reason, never left out.
func TestEveryFactorIsTriedOrNamedOnEveryPath(t *testing.T) {
	const container, other = "{container: s, on: a}", "{container: r, on: b}"
	type ends struct{ from, to, traffic, path, differs, node string }
	of := map[string]ends{
		"wire":              {from: "a", to: "b"},
		"testpmd":           {to: "{container: r, on: a}", traffic: "frame", differs: "traffic: {size: 128B}"},
		"ovs-dpdk":          {to: "{container: r, on: a}", traffic: "frame", differs: "traffic: {size: 128B}"},
		"published-port":    {from: "a"},
		"macvlan":           {from: "a"},
		"host-network":      {to: "b", path: "{kind: host-network, cpus: 0.5}"},
		"team":              {path: "{kind: team, members: 2}"},
		"user-network":      {from: "{vm: s, on: a}", to: "b"},
		"vm-published-port": {from: "a", to: "{vm: r, on: a}", differs: "traffic: {message: 1KiB}"},
		"existing":          {from: "a", to: "b", node: "exec: here", differs: "traffic: {message: 1KiB}"},
	}
	for _, path := range paths.All() {
		e := of[path.Name()]
		for word, instead := range map[*string]string{&e.from: container, &e.to: other, &e.traffic: "stream", &e.path: path.Name(), &e.differs: "wire: {loss: 1%}"} {
			if *word == "" {
				*word = instead
			}
		}
		suite, err := scenario.Parse([]byte(fmt.Sprintf(suspectsOnAPath, e.node, e.node, e.traffic, e.path, e.from, e.to, e.differs)), "suspects.yaml", Vocabulary())
		if err != nil {
			t.Errorf("%s: %v", path.Name(), err)
			continue
		}
		p, err := MakePlan(suite, large, Settings{Budget: time.Minute, Why: &Why{Ratio: "B/A"}})
		if err != nil {
			t.Errorf("%s: %v", path.Name(), err)
			continue
		}
		cells, untested := tried(p)
		for _, factor := range []string{"gro", "tso", "checksum", "mtu", "steering", "queues", "encapsulation", "message", "cpu", "quota"} {
			if reason := untested[factor]; path.Name() == "existing" && (strings.Contains(reason, "one CPU") || strings.Contains(reason, "not wrapped")) {
				t.Errorf("nobody knows of places that run already, and yet %s is not tried: %s", factor, reason)
			}
			if cells["A+"+factor] == "" && cells["B+"+factor] == "" && strings.TrimSpace(untested[factor]) == "" {
				t.Errorf("%s: nothing is said of %s; it tries %v", path.Name(), factor, slices.Sorted(maps.Keys(cells)))
			}
		}
		t.Logf("%s tries %v, and not %v", path.Name(), slices.Sorted(maps.Keys(cells)), untested)
	}
}
