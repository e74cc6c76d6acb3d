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
	golden(t, "team", "team", routed(request("nic", datapath.SegmentationFound, containers("a", "b"))))
	golden(t, "team-of-three-pulled-back", "team", routed(with(wide(request("nic", datapath.SegmentationOff, containers("b", "a"))), "pull", true)))
	golden(t, "team-bonded", "team", with(request("nic", datapath.SegmentationFound, containers("a", "b")), "by", "bond"))
	golden(t, "team-bonded-no-segmentation-pulled", "team", bonded(with(request("nic", datapath.SegmentationOff, containers("a", "b")), "pull", true)))
	golden(t, "vxlan", "vxlan", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "vxlan-no-segmentation", "vxlan", request("memory", datapath.SegmentationOff, containers("a", "b")))
	golden(t, "ovs", "ovs", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "ovs-tso", "ovs", with(request("nic", datapath.SegmentationFound, containers("a", "b")), "tso", true))
	golden(t, "ovs-vxlan", "ovs", with(request("nic", datapath.SegmentationOff, containers("a", "b")), "encapsulation", "vxlan"))
	golden(t, "ovs-colocated", "ovs", request("nic", datapath.SegmentationFound, containers("a", "a")))
	golden(t, "ovs-dpdk", "ovs-dpdk", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "ovs-dpdk-vxlan-colocated", "ovs-dpdk", with(wide(request("nic", datapath.SegmentationFound, containers("a", "a"))), "encapsulation", "vxlan"))
	golden(t, "ovs-dpdk-ports", "ovs-dpdk", frames(wide(request("nic", datapath.SegmentationFound, containers("a", "a")))))
	golden(t, "ovs-dpdk-vxlan-ports", "ovs-dpdk", frames(with(request("nic", datapath.SegmentationFound, containers("a", "b")), "encapsulation", "vxlan")))
	golden(t, "testpmd-ports", "testpmd", frames(request("nic", datapath.SegmentationFound, containers("a", "b"))))
	golden(t, "testpmd-ports-colocated", "testpmd", frames(wide(request("nic", datapath.SegmentationFound, containers("a", "a")))))
	golden(t, "redirect", "redirect", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "testpmd", "testpmd", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "testpmd-mac-colocated", "testpmd", with(wide(request("nic", datapath.SegmentationFound, containers("a", "a"))), "forward", "mac"))
	golden(t, "vrouter", "vrouter", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "vrouter-flat", "vrouter", flat(request("nic", datapath.SegmentationFound, containers("a", "b"))))
	golden(t, "vrouter-over-ipv6", "vrouter", over6(request("nic", datapath.SegmentationFound, containers("a", "b")), "mplsoudp"))
	golden(t, "vrouter-colocated", "vrouter", request("nic", datapath.SegmentationFound, containers("a", "a")))
	golden(t, "vrouter-poll", "vrouter", with(request("nic", datapath.SegmentationFound, containers("a", "b")), "mode", "poll"))
	golden(t, "vrouter-poll-veth", "vrouter", attached(request("nic", datapath.SegmentationFound, containers("a", "b")), "veth"))
	golden(t, "vrouter-poll-ports", "vrouter", atPorts(request("nic", datapath.SegmentationFound, containers("a", "b"))))
	golden(t, "vrouter-poll-ports-wide-node", "vrouter", atPorts(wide(request("nic", datapath.SegmentationFound, containers("a", "a")))))
	golden(t, "vrouter-alone", "vrouter", alone(request("nic", datapath.SegmentationFound, bothWays()...), "mplsoudp"))
	golden(t, "vrouter-alone-over-ipv6-wide-node", "vrouter", over(alone(wide(request("nic", datapath.SegmentationFound, containers("a", "a"))), "mplsogre"), "ipv6"))
	golden(t, "vrouter-poll-alone", "vrouter", alone(atPorts(request("nic", datapath.SegmentationFound, bothWays()...)), "mplsoudp"))
	golden(t, "vrouter-poll-alone-over-ipv6-wide-node", "vrouter", over(alone(atPorts(wide(request("nic", datapath.SegmentationFound, containers("a", "a")))), "vxlan"), "ipv6"))
	golden(t, "vrouter-two-pairs", "vrouter", request("nic", datapath.SegmentationFound, twoPairs()...))
	golden(t, "bridge-vms", "bridge", request("nic", datapath.SegmentationFound, vms("a", "b")))
	golden(t, "vrouter-vms-two-interfaces", "vrouter", request("nic", datapath.SegmentationOff, crossed("a", "b")...))
	golden(t, "vrouter-poll-vms", "vrouter", with(request("nic", datapath.SegmentationOff, vms("a", "b")), "mode", "poll"))
	golden(t, "user-network-out", "user-network", request("nic", datapath.SegmentationFound, result.Pair{From: vms("a", "b").From, To: result.Place{Node: "b"}}))
	golden(t, "user-network-in", "user-network", request("nic", datapath.SegmentationFound, result.Pair{From: result.Place{Node: "a"}, To: vms("a", "b").To}))
	golden(t, "user-network-passt", "user-network", with(request("nic", datapath.SegmentationFound, result.Pair{From: result.Place{Node: "b"}, To: vms("a", "b").To}), "by", "passt"))
	golden(t, "vm-published-port", "vm-published-port", request("nic", datapath.SegmentationFound, result.Pair{From: result.Place{Node: "a"}, To: vms("b", "a").To}))
	golden(t, "vm-published-port-qemu", "vm-published-port", with(request("nic", datapath.SegmentationFound, result.Pair{From: result.Place{Node: "a"}, To: vms("a", "b").To}), "network", "qemu"))
	golden(t, "vm-published-port-out", "vm-published-port", with(request("nic", datapath.SegmentationFound, result.Pair{From: vms("a", "b").From, To: result.Place{Node: "a"}}), "port", int64(7000)))
	golden(t, "published-port", "published-port", request("nic", datapath.SegmentationFound, served("a", "b")))
	golden(t, "published-port-proxy", "published-port", with(request("nic", datapath.SegmentationFound, served("b", "b")), "proxy", true))
	golden(t, "published-port-user-network", "published-port", limited(request("nic", datapath.SegmentationFound, twoPairs()...)))
	golden(t, "macvlan", "macvlan", request("nic", datapath.SegmentationFound, containers("a", "b")))
	golden(t, "macvlan-colocated-subnet", "macvlan", moved(request("nic", datapath.SegmentationFound, containers("a", "a"))))
	golden(t, "host-network", "host-network", request("nic", datapath.SegmentationFound, served("a", "b")))
	golden(t, "host-network-colocated", "host-network", request("nic", datapath.SegmentationFound, served("b", "b")))
	golden(t, "bridge-queued-by-destination", "bridge", queued(wide(request("nic", datapath.SegmentationNoLSO, twoPairs()...)), "on", "both"))
	golden(t, "bridge-queued-by-flow", "bridge", queued(wide(request("nic", datapath.SegmentationFound, containers("a", "b"))), "auto", "receive"))
	golden(t, "bridge-one-queue", "bridge", queued(wide(request("nic", datapath.SegmentationFound, containers("a", "b"))), "off", "auto"))
	golden(t, "raw-mesh", "wire", mesh("", 3))
	golden(t, "bridge-mesh", "bridge", mesh("at-", 3))
	golden(t, "bridge-three-pairs-wide-nodes", "bridge", wide(request("nic", datapath.SegmentationFound, threePairs()...)))
}

// vms are two virtual machines' first interfaces, and crossed pairs send by the first and receive by the second ones.
func vms(from, to string) result.Pair {
	return result.Pair{From: result.Place{Node: from, Container: "one", VM: "one"}, To: result.Place{Node: to, Container: "two", VM: "two"}}
}

func crossed(from, to string) []result.Pair {
	one, two := vms(from, to), vms(from, to)
	one.To.Container, one.To.NIC = "two-1", 1
	two.From, two.To = two.To, two.From
	two.To.Container, two.To.NIC = "one-1", 1
	return []result.Pair{one, two}
}

// mesh has every pair of so many nodes, in containers of a prefix and the node's name, if there is a prefix.
func mesh(prefix string, nodes int) datapath.Request {
	r := request("nic", datapath.SegmentationFound)
	r.Nodes = nil
	place := func(i int) result.Place {
		p := result.Place{Node: string(rune('a' + i))}
		if prefix != "" {
			p.Container = prefix + p.Node
		}
		return p
	}
	for i := range nodes {
		r.Nodes = append(r.Nodes, testbed.Node{Name: place(i).Node, CPUs: []int{i % 2}})
		for k := range nodes {
			if i != k {
				r.Pairs = append(r.Pairs, result.Pair{From: place(i), To: place(k)})
			}
		}
	}
	return r
}

// routed joins a team's links by a route.
func routed(r datapath.Request) datapath.Request {
	r.Options["by"] = "route"
	return r
}

// bonded joins a team's links by bonds.
func bonded(r datapath.Request) datapath.Request {
	r.Options["by"] = "bond"
	return r
}

// atPorts asks for poll mode with raw frames alone.
func atPorts(r datapath.Request) datapath.Request {
	r.Frames, r.OnlyFrames = true, true
	return with(r, "mode", "poll")
}

// frames asks for raw frames alone.
func frames(r datapath.Request) datapath.Request {
	r.Frames, r.OnlyFrames = true, true
	return r
}

// alone puts the tester at the far end of the fabric.
func alone(r datapath.Request, encapsulation string) datapath.Request {
	r.Frames, r.OnlyFrames = true, true
	r.Options = maps.Clone(r.Options)
	r.Options["far"], r.Options["encapsulation"] = "tester", encapsulation
	return r
}

func over(r datapath.Request, underlay string) datapath.Request {
	r.Options["underlay"] = underlay
	return r
}

// served is a client in a node's own stack and a server in a container.
func served(from, to string) result.Pair {
	return result.Pair{From: result.Place{Node: from}, To: result.Place{Node: to, Container: "server"}}
}

// limited asks for everything that an engine's container can have.
func limited(r datapath.Request) datapath.Request {
	r.Options = result.Options{"network": "user", "proxy": false, "port": int64(7000), "cpus": "0.5", "memory": int64(256 << 20), "image": "/tmp/server.tar"}
	return r
}

func moved(r datapath.Request) datapath.Request {
	r.Options = result.Options{"subnet": "10.1.2.0/24", "gateway": "10.1.2.1"}
	return r
}

// bothWays are two containers of a node that send to each other.
func bothWays() []result.Pair {
	there := containers("a", "a")
	return []result.Pair{there, {From: there.To, To: there.From}}
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
	for i, p := range laid.Published {
		fmt.Fprintf(&text, "pair %d connects to %s, ports %d and %d\n", i, p.Address, p.Port, p.Beside)
	}
	for _, doubt := range laid.Doubts {
		fmt.Fprintf(&text, "doubt: %s\n", doubt.Says)
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

// with gives the path an option.
func with(r datapath.Request, name string, value any) datapath.Request {
	r.Options = result.Options{name: value}
	return r
}

// attached is poll mode whose containers are reached in one way.
func attached(r datapath.Request, attach string) datapath.Request {
	r.Options = result.Options{"mode": "poll", "attach": attach}
	return r
}

func over6(r datapath.Request, encapsulation string) datapath.Request {
	r.Options = result.Options{"encapsulation": encapsulation, "underlay": "ipv6"}
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
	refused(t, []refusal{
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
		{"no room for MPLSoUDP over IPv6", "vrouter", func(r *datapath.Request) { r.Wire.MTU, r.Options = 1200, result.Options{"underlay": "ipv6"} }, "MTU 1200 carries no IPv6: give it an MTU of at least 1280"},
		{"a VM without a tap", "macvlan", func(r *datapath.Request) { r.Pairs[0] = vms("a", "b") }, "joins no virtual machines, as one is one"},
		{"a VM at a packet socket", "ovs", func(r *datapath.Request) { r.Pairs[0] = vms("a", "b") }, "joins no virtual machines, as one is one"},
		{"a VM of many queues in poll mode", "vrouter", func(r *datapath.Request) {
			*r = with(*r, "mode", "poll")
			r.Pairs[0], r.VM.Queues = vms("a", "b"), 2
		}, "more than the one of poll mode's ports"},
		{"a VM at the far end", "vrouter", func(r *datapath.Request) { *r = alone(*r, "mplsoudp"); r.Pairs = []result.Pair{vms("a", "a")} }, "CPUs, which a VM's are not"},
		{"a VM that sends by its second interface", "bridge", func(r *datapath.Request) {
			r.Pairs[0] = crossed("a", "b")[0]
			r.Pairs[0].From, r.Pairs[0].To = r.Pairs[0].To, r.Pairs[0].From
		}, "which sends by its first one"},
		{"frames through QEMU's stack", "user-network", func(r *datapath.Request) { r.Pairs[0], r.Frames = vms("a", "b"), true }, "raw frames do not pass"},
		{"a container behind QEMU's stack", "user-network", func(*datapath.Request) {}, "write {vm: sender, on: a}"},
		{"nodes alone behind QEMU's stack", "user-network", func(r *datapath.Request) { r.Pairs[0] = processes() }, "no end is a virtual machine"},
		{"a second interface of QEMU's stack", "user-network", func(r *datapath.Request) { r.Pairs[0] = crossed("a", "b")[0] }, "both would have the same address"},
		{"an unknown underlay", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"underlay": "ipx"} }, `"ipx"`},
		{"an unknown encapsulation", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"encapsulation": "gre"} }, `"gre"`},
		{"an unknown mode", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"mode": "fpga"} }, `the mode "fpga"`},
		{"poll mode that receives at XDP", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"mode": "poll", "receive": "xdp"} }, "receive is of the mode kernel"},
		{"poll mode at a rope", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"mode": "poll", "attach": "rope"} }, "choose tap or veth"},
		{"poll mode with a fast path", "vrouter", func(r *datapath.Request) { r.Options = result.Options{"mode": "poll", "fast": "on"} }, "fast is of the mode kernel"},
		{"a port that would send to two", "ovs-dpdk", func(r *datapath.Request) {
			*r = frames(*r)
			r.Pairs = []result.Pair{containers("a", "b"), {From: containers("a", "b").From, To: result.Place{Node: "b", Container: "third"}}}
		}, "sends to one: give each pair containers of its own"},
		{"jumbo frames at ports of poll mode", "vrouter", func(r *datapath.Request) { *r = atPorts(*r); r.Wire.MTU = 9000 }, "more than the 3822 of poll mode's ports"},
		{"a tester at nobody's far end", "vrouter", func(r *datapath.Request) { *r = alone(*r, "none"); r.Options["far"] = "trex" }, `far: "trex" is unknown`},
		{"a tester at the far end of TCP", "vrouter", func(r *datapath.Request) { *r = alone(*r, "none"); r.OnlyFrames = false }, "far: tester is for raw frames alone"},
		{"a tester between two nodes", "vrouter", func(r *datapath.Request) { *r = alone(atPorts(*r), "none") }, "takes two containers on one node, and the pairs have 2 on 2"},
		{"a tester without GRO", "vrouter", func(r *datapath.Request) { *r = alone(*r, "none"); r.Segmentation = datapath.SegmentationOff }, "leave segmentation as-found"},
		{"a tester for two pairs", "vrouter", func(r *datapath.Request) { *r = alone(atPorts(*r), "none"); r.Pairs = twoPairs() }, "the pairs have 4 on 2"},
		{"no room for Open vSwitch's VXLAN", "ovs", func(r *datapath.Request) { r.Wire.MTU, r.Options = 600, result.Options{"encapsulation": "vxlan"} }, "MTU of at least 626"},
		{"an encapsulation that Open vSwitch has not", "ovs", func(r *datapath.Request) { r.Options = result.Options{"encapsulation": "mplsoudp"} }, `"mplsoudp"`},
		{"whole packets in Open vSwitch's tunnel", "ovs", func(r *datapath.Request) { r.Options = result.Options{"encapsulation": "vxlan", "tso": true} }, "drops whole packets"},
		{"a way that testpmd has not", "testpmd", func(r *datapath.Request) { r.Options = result.Options{"forward": "5tuple"} }, `"5tuple"`},
		{"more than testpmd's two ports", "testpmd", func(r *datapath.Request) { r.Pairs = twoPairs() }, "have 4 containers"},
		{"more than testpmd's buffer", "testpmd", func(r *datapath.Request) { r.Wire.MTU = 9000 }, "more than the 1900"},
		{"more than a buffer of ovs-dpdk", "ovs-dpdk", func(r *datapath.Request) { r.Wire.MTU = 9000 }, "more than the 1900"},
		{"more than two redirected interfaces", "redirect", func(r *datapath.Request) { r.Pairs = twoPairs() }, "have 4 containers"},
		{"three nodes", "vxlan", func(r *datapath.Request) {
			r.Nodes = append(r.Nodes, testbed.Node{Name: "c"})
			r.Pairs = append(r.Pairs, result.Pair{From: result.Place{Node: "c", Container: "x"}, To: r.Pairs[0].To})
		}, "take wire or bridge"},
		{"nine nodes", "wire", func(r *datapath.Request) { *r = mesh("", 9) }, "at most 8 are joined"},
	})
}

func TestContainersInMachinesAreRefused(t *testing.T) {
	refused(t, []refusal{
		{"a host-only network of two nodes", "vm-published-port", func(r *datapath.Request) { r.Pairs[0] = result.Pair{From: processes().From, To: vms("a", "b").To} }, "take `network: qemu`"},
		{"two machines on host-only networks", "vm-published-port", func(r *datapath.Request) { r.Pairs[0] = vms("a", "a") }, "has a host-only network of its own"},
		{"frames to a guest's container", "vm-published-port", func(r *datapath.Request) { r.Pairs[0], r.Frames = vms("a", "b"), true }, "do not pass rules that rewrite"},
		{"a guest's container without segmentation", "vm-published-port", func(r *datapath.Request) {
			r.Pairs[0], r.Segmentation = vms("a", "b"), datapath.SegmentationOff
		}, "take `segmentation: as-found`"},
		{"many queues of a user-mode network", "vm-published-port", func(r *datapath.Request) {
			*r = with(*r, "network", "qemu")
			r.Pairs[0], r.VM.Queues = vms("a", "b"), 2
		}, "has one queue"},
	})
}

func TestEnginesRefuse(t *testing.T) {
	refused(t, []refusal{
		{"a published port of a process", "published-port", func(r *datapath.Request) { r.Pairs[0].To = result.Place{Node: "b"} }, "b receives in the node's own stack"},
		{"a published port without segmentation", "published-port", func(r *datapath.Request) { r.Segmentation = datapath.SegmentationOff }, "take `segmentation: as-found`"},
		{"another node's 127.0.0.1", "published-port", func(r *datapath.Request) { *r = with(*r, "connect", "loopback"); r.Pairs[0] = served("a", "b") }, "only a client in the stack of node b can"},
		{"a container's 127.0.0.1", "published-port", func(r *datapath.Request) { *r = with(*r, "connect", "loopback") }, "sender cannot connect to 127.0.0.1"},
		{"raw frames to a published port", "published-port", func(r *datapath.Request) { *r = frames(*r) }, "raw frames do not enter"},
		{"more ports than there are", "published-port", func(r *datapath.Request) {
			r.Pairs = nil
			for range 300 {
				r.Pairs = append(r.Pairs, served("a", "b"))
			}
			*r = with(*r, "port", int64(65000))
		}, "65535 is the last"},
		{"no CPUs", "published-port", func(r *datapath.Request) { *r = with(*r, "cpus", "none") }, `"none": write a number`},
		{"too few CPUs", "host-network", func(r *datapath.Request) { *r = with(*r, "cpus", "0.001") }, "from 0.01 on"},
		{"no container in the host's network", "host-network", func(r *datapath.Request) { r.Pairs = []result.Pair{processes()} }, "no end is a container"},
		{"a node's stack and its own macvlan", "macvlan", func(r *datapath.Request) { r.Pairs[0] = served("b", "b") }, "do not reach each other"},
		{"two private neighbours", "macvlan", func(r *datapath.Request) { *r = with(*r, "mode", "private"); r.Pairs[0] = containers("a", "a") }, "take the mode bridge"},
		{"two that pass through", "macvlan", func(r *datapath.Request) { *r = with(*r, "mode", "passthru"); r.Pairs = twoPairs() }, "one container has all of an interface"},
		{"a subnet that is none", "macvlan", func(r *datapath.Request) { *r = with(*r, "subnet", "10.0.0.1/8") }, `"10.0.0.1/8" is no IPv4 prefix of 24 bits`},
		{"a gateway elsewhere", "macvlan", func(r *datapath.Request) { *r = with(*r, "gateway", "10.0.0.1") }, `"10.0.0.1" is no address of the subnet`},
		{"an endpoint's gateway", "macvlan", func(r *datapath.Request) { *r = with(*r, "gateway", "172.16.0.21") }, "may be an endpoint's address"},
		{"macvlan without segmentation", "macvlan", func(r *datapath.Request) { r.Segmentation = datapath.SegmentationOff }, "take `segmentation: as-found`"},
	})
}

// refusal is a request that a path cannot serve: one between two containers on two nodes, changed.
type refusal struct {
	name, path string
	change     func(*datapath.Request)
	want       string
}

func refused(t *testing.T, all []refusal) {
	t.Helper()
	for _, c := range all {
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
