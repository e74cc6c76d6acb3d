package paths_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/testbed"
)

var update = flag.Bool("update", false, "write the golden files")

func TestLaid(t *testing.T) {
	golden(t, "raw", "wire", request("nic", datapath.SegmentationFound, processes()))
	golden(t, "raw-memory", "wire", request("memory", datapath.SegmentationFound, processes()))
	golden(t, "raw-no-segmentation", "wire", request("nic", datapath.SegmentationOff, processes()))
	golden(t, "bridge", "bridge", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "bridge-colocated", "bridge", request("nic", datapath.SegmentationFound, containers("a", "a")))
	golden(t, "bridge-two-pairs", "bridge", request("nic", datapath.SegmentationFound, twoPairs()...))
	golden(t, "bridge-no-segmentation", "bridge", request("nic", datapath.SegmentationOff, containers("a", "b")))
	golden(t, "vxlan", "vxlan", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "vxlan-no-segmentation", "vxlan", request("memory", datapath.SegmentationOff, containers("a", "b")))
	golden(t, "vrouter", "vrouter", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "vrouter-flat", "vrouter", flat(request("nic", datapath.SegmentationFound, containers("a", "b"))))
	golden(t, "vrouter-colocated", "vrouter", request("nic", datapath.SegmentationFound, containers("a", "a")))
	golden(t, "vrouter-two-pairs", "vrouter", request("nic", datapath.SegmentationFound, twoPairs()...))
	golden(t, "bridge-three-pairs-wide-nodes", "bridge", wide(request("nic", datapath.SegmentationFound, threePairs()...)))
}

// golden compares a laid path with its files: the text for people, who review a
// drawing, and the graph for machines.
func golden(t *testing.T, name, path string, r datapath.Request) {
	t.Run(name, func(t *testing.T) {
		p, ok := paths.ByName(path)
		if !ok {
			t.Fatalf("no path %s", path)
		}
		laid, err := p.Lay(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := testbed.Validate(laid.Graph); err != nil {
			t.Error(err)
		}
		graph, err := json.MarshalIndent(laid.Graph, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		same(t, name+".txt", describe(laid))
		same(t, name+".json", string(graph)+"\n")
	})
}

func describe(laid datapath.Laid) string {
	var text strings.Builder
	text.WriteString(testbed.Draw(laid.Graph))
	text.WriteByte('\n')
	for _, change := range testbed.Diff(testbed.Graph{}, laid.Graph) {
		fmt.Fprintln(&text, change)
	}
	fmt.Fprintf(&text, "\nMTU %d on the wire, %d at the endpoints\n", laid.MTU.Wire, laid.MTU.Endpoint)
	for _, place := range slices.Sorted(maps.Keys(laid.Addresses)) {
		fmt.Fprintf(&text, "reach %s at %s\n", place, laid.Addresses[place])
	}
	for _, fact := range slices.Sorted(maps.Keys(laid.Facts)) {
		fmt.Fprintf(&text, "%s: %s\n", fact, laid.Facts[fact])
	}
	return text.String()
}

func same(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: make it with go test -update, and read it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

func twoPairs() []result.Pair {
	second := containers("a", "b")
	second.From.Container, second.To.Container = "sender2", "receiver2"
	return []result.Pair{containers("a", "b"), second}
}

func threePairs() []result.Pair {
	third := containers("a", "b")
	third.From.Container, third.To.Container = "sender3", "a-very-long-name-of-a-container"
	return append(twoPairs(), third)
}

func flat(r datapath.Request) datapath.Request {
	r.Options = result.Options{"encapsulation": "none"}
	return r
}

// wide gives the nodes several CPUs, and so the wire several queues.
func wide(r datapath.Request) datapath.Request {
	r.Nodes[0].CPUs, r.Nodes[1].CPUs = []int{0, 1, 2, 3}, []int{4, 5}
	return r
}

func TestDrawingsFitAPage(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		drawing, _, _ := strings.Cut(string(text), "\n\n")
		for line := range strings.SplitSeq(drawing, "\n") {
			if len(line) > 104 {
				t.Errorf("%s: a line of %d columns", file, len(line))
			}
		}
	}
}

func TestRefused(t *testing.T) {
	process := result.Place{Node: "a"}
	for _, c := range []struct {
		name, path string
		change     func(*datapath.Request)
		want       string
	}{
		{"a container on the wire", "wire", func(r *datapath.Request) { r.Pairs = []result.Pair{containers("a", "b")} }, "cannot reach the container sender"},
		{"a wire within a node", "wire", func(r *datapath.Request) { r.Pairs = []result.Pair{{From: process, To: process}} }, "no wire within a node"},
		{"a process on a bridge", "bridge", func(r *datapath.Request) { r.Pairs[0].From = process }, "cannot reach the process on node a"},
		{"no pairs", "bridge", func(r *datapath.Request) { r.Pairs = nil }, "no pairs"},
		{"an unknown node", "bridge", func(r *datapath.Request) { r.Pairs[0].To.Node = "z" }, `on node "z"`},
		{"one name on two nodes", "bridge", func(r *datapath.Request) { r.Pairs[0].To.Container = "sender" }, "container sender is on both a and b"},
		{"a container named like a node", "bridge", func(r *datapath.Request) { r.Pairs[0].To.Container = "b" }, "called b like a node"},
		{"an unknown wire", "bridge", func(r *datapath.Request) { r.Wire.Kind = "rope" }, `kind "rope"`},
		{"a tiny wire", "bridge", func(r *datapath.Request) { r.Wire.MTU = 500 }, "MTU 500"},
		{"a huge wire", "bridge", func(r *datapath.Request) { r.Wire.MTU = 70000 }, "MTU 70000"},
		{"no room for VXLAN", "vxlan", func(r *datapath.Request) { r.Wire.MTU = 600 }, "MTU of at least 626"},
		{"no room for MPLSoUDP", "vrouter", func(r *datapath.Request) { r.Wire.MTU = 600 }, "MTU of at least 608"},
		{"an unknown encapsulation", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"encapsulation": "gre"} }, `"gre"`},
		{"three nodes", "bridge", func(r *datapath.Request) {
			r.Nodes = append(r.Nodes, testbed.Node{Name: "c"})
			r.Pairs = append(r.Pairs, result.Pair{From: result.Place{Node: "c", Container: "x"}, To: r.Pairs[0].To})
		}, "use 3 nodes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request("nic", datapath.SegmentationFound, containers("a", "b"))
			c.change(&r)
			p, _ := paths.ByName(c.path)
			_, err := p.Lay(r)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "path "+c.path+" of cell T") {
				t.Errorf("got %v, want a word of %q", err, c.want)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	words := paths.Vocabulary()
	for _, p := range paths.All() {
		if found, ok := paths.ByName(p.Name()); !ok || found != p {
			t.Errorf("%s is not found by its name", p.Name())
		}
		if p.Says() == "" {
			t.Errorf("%s says nothing", p.Name())
		}
		if _, ok := words[p.Name()]; !ok {
			t.Errorf("%s has no words", p.Name())
		}
	}
	if _, ok := paths.ByName("no-such"); ok {
		t.Error("a path that is not there is found")
	}
}
