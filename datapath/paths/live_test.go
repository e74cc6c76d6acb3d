package paths_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/vrouter/built"
)

// bed is a laid path, live on two backends of this process, as two agents would.
type bed struct {
	laid  datapath.Laid
	nodes map[string]*netns.Backend
	order []string
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not measured here: network namespaces need root")
	}
}

// withVRouter puts the vRouter's program on PATH, built from this tree.
func withVRouter(t *testing.T) {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	if err := built.Go("windtunnel/cmd/vrouter", filepath.Join(dir, "vrouter")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// raise lays a cell and makes it live.
func raise(t *testing.T, path string, r datapath.Request) *bed {
	t.Helper()
	needRoot(t)
	p, ok := paths.ByName(path)
	if !ok {
		t.Fatalf("no path %s", path)
	}
	for _, program := range datapath.Programs(p) {
		if _, err := netns.FindProgram(program.Name); err != nil {
			t.Skipf("not measured here: %v: %s", err, program.Install)
		}
	}
	laid, err := p.Lay(r)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{laid: laid, nodes: map[string]*netns.Backend{}}
	for _, node := range laid.Graph.Nodes {
		backend := netns.New(node.Name, node.CPUs, t.TempDir())
		t.Cleanup(func() {
			if err := backend.Close(); err != nil {
				t.Error(err)
			}
		})
		b.nodes[node.Name] = backend
		b.order = append(b.order, node.Name)
	}
	b.apply(t, laid.Graph)
	return b
}

func (b *bed) apply(t *testing.T, g testbed.Graph) {
	t.Helper()
	ctx, peers := context.Background(), map[string]string{}
	for _, node := range b.order {
		stacks, err := b.nodes[node].Place(ctx, g)
		if err != nil {
			t.Fatal(err)
		}
		for place, path := range stacks {
			peers[place] = path
		}
	}
	applied := make(chan error, len(b.order))
	for _, node := range b.order {
		go func() { applied <- b.nodes[node].Apply(ctx, g, peers) }()
	}
	for range b.order {
		if err := <-applied; err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range b.order {
		if err := b.nodes[node].Verify(ctx, g); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bed) stack(place string) *netns.Stack {
	return b.nodes[b.laid.Graph.NodeOf(place)].Stack(b.laid.Graph.Cell, place)
}

// send pushes bytes over one connection from a place to another.
func (b *bed) send(t *testing.T, from, to string, bytes int) {
	t.Helper()
	var listener net.Listener
	err := b.stack(to).Do(func() (err error) {
		listener, err = net.Listen("tcp4", b.laid.Addresses[to]+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	received := make(chan error, 1)
	go func() { received <- receive(listener, bytes) }()
	var conn net.Conn
	err = b.stack(from).Do(func() (err error) {
		conn, err = net.DialTimeout("tcp4", listener.Addr().String(), 5*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	buffer := make([]byte, 128<<10)
	for sent := 0; sent < bytes; sent += len(buffer) {
		if _, err := conn.Write(buffer); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-received; err != nil {
		t.Fatal(err)
	}
}

func receive(listener net.Listener, bytes int) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	n, err := io.CopyN(io.Discard, conn, int64(bytes))
	if n != int64(bytes) || err != nil {
		return errors.Join(fmt.Errorf("received %d of %d bytes", n, bytes), err)
	}
	return nil
}

// counters are a device's.
type counters struct{ rxBytes, rxPackets, txBytes, txPackets, txDropped float64 }

func (b *bed) counters(t *testing.T, place, device string) counters {
	t.Helper()
	stack, c := b.stack(place), counters{}
	err := stack.Do(func() error {
		for name, into := range map[string]*float64{
			"rx_bytes": &c.rxBytes, "rx_packets": &c.rxPackets, "tx_bytes": &c.txBytes, "tx_packets": &c.txPackets,
			"tx_dropped": &c.txDropped,
		} {
			text, err := os.ReadFile(filepath.Join(stack.Sysfs(), "class/net", device, "statistics", name))
			if err != nil {
				return err
			}
			if *into, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func request(kind string, segmentation datapath.Segmentation, pairs ...result.Pair) datapath.Request {
	return datapath.Request{
		Cell: "T", Pairs: pairs,
		Nodes:        []testbed.Node{{Name: "a", CPUs: []int{0}}, {Name: "b", CPUs: []int{1}}},
		Wire:         datapath.Wire{Kind: kind, MTU: 1500},
		Segmentation: segmentation, Options: result.Options{}, VM: datapath.VM{CPUs: 1, MemoryBytes: 256 << 20, Queues: 1},
	}
}

// besideFrames asks for interfaces at which raw frames can enter, beside other loads.
func besideFrames(r datapath.Request) datapath.Request {
	r.Frames = true
	return r
}

func processes() result.Pair {
	return result.Pair{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}
}

func containers(from, to string) result.Pair {
	return result.Pair{
		From: result.Place{Node: from, Container: "sender"},
		To:   result.Place{Node: to, Container: "receiver"},
	}
}

const volume = 64 << 20

func TestPacketsOnTheWire(t *testing.T) {
	withVRouter(t)
	for _, c := range []struct {
		path, kind   string
		segmentation datapath.Segmentation
		pair         result.Pair
		options      result.Options
	}{
		{"wire", "nic", datapath.SegmentationFound, processes(), nil},
		{"wire", "memory", datapath.SegmentationFound, processes(), nil},
		{"wire", "nic", datapath.SegmentationOff, processes(), nil},
		{"bridge", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"bridge", "memory", datapath.SegmentationFound, containers("a", "b"), nil},
		{"bridge", "nic", datapath.SegmentationOff, containers("a", "b"), nil},
		{"vxlan", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"vxlan", "memory", datapath.SegmentationFound, containers("a", "b"), nil},
		{"vxlan", "nic", datapath.SegmentationOff, containers("a", "b"), nil},
		{"ovs", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"testpmd", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"ovs-dpdk", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"redirect", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"redirect", "memory", datapath.SegmentationFound, containers("a", "b"), nil},
		{"ovs", "memory", datapath.SegmentationFound, containers("a", "b"), result.Options{"tso": true}},
		{"ovs", "nic", datapath.SegmentationOff, containers("a", "b"), result.Options{"encapsulation": "vxlan"}},
		{"vrouter", "nic", datapath.SegmentationFound, containers("a", "b"), nil},
		{"vrouter", "memory", datapath.SegmentationFound, containers("a", "b"), nil},
		{"vrouter", "nic", datapath.SegmentationOff, containers("a", "b"), nil},
		{"vrouter", "nic", datapath.SegmentationFound, containers("a", "b"), result.Options{"underlay": "ipv6"}},
		{"vrouter", "nic", datapath.SegmentationOff, containers("a", "b"), result.Options{"underlay": "ipv6"}},
	} {
		name, r := fmt.Sprint(c.path, "-", c.kind, "-", c.segmentation), request(c.kind, c.segmentation, c.pair)
		for option, value := range c.options {
			name += fmt.Sprint("-", option, "-", value)
			r.Options = c.options
		}
		t.Run(name, func(t *testing.T) {
			b := raise(t, c.path, r)
			began, volume := time.Now(), volume
			if slices.ContainsFunc(b.laid.Graph.Daemons, func(d testbed.Daemon) bool { return d.Polls }) {
				volume /= 4 // it takes most of the one CPU that its node has
			}
			b.send(t, c.pair.From.Name(), c.pair.To.Name(), volume)
			took := time.Since(began)
			wire := b.counters(t, "a", datapath.NIC)
			onWire := wire.txBytes / wire.txPackets
			t.Logf("%.0f bytes a packet on the wire, %.0f of %.0f dropped, %.1f Gbit/s",
				onWire, wire.txDropped, wire.txPackets, float64(volume)*8/took.Seconds()/1e9)
			whole := c.kind == "memory" && c.segmentation == datapath.SegmentationFound
			if !whole && (onWire > 1514 || onWire < 1000) {
				t.Errorf("%.0f bytes a packet on a wire of MTU 1500", onWire)
			}
			if whole && onWire < 5000 {
				t.Errorf("%.0f bytes a packet on a wire that is memory: super-packets were cut", onWire)
			}
		})
	}
}

func TestEveryPairTalks(t *testing.T) {
	withVRouter(t)
	for _, c := range []struct {
		name, path string
		request    datapath.Request
	}{
		{"bridge colocated", "bridge", request("nic", datapath.SegmentationFound, containers("a", "a"))},
		{"bridge two pairs", "bridge", request("nic", datapath.SegmentationFound, twoPairs()...)},
		{"bridge three pairs", "bridge", request("nic", datapath.SegmentationFound, threePairs()...)},
		{"team two pairs", "team", routed(request("nic", datapath.SegmentationFound, twoPairs()...))},
		{"team of memory wires", "team", routed(request("memory", datapath.SegmentationFound, containers("a", "b")))},
		{"vxlan colocated", "vxlan", request("nic", datapath.SegmentationFound, containers("b", "b"))},
		{"vxlan two pairs", "vxlan", request("nic", datapath.SegmentationOff, twoPairs()...)},
		{"ovs colocated", "ovs", request("nic", datapath.SegmentationFound, containers("a", "a"))},
		{"ovs, frames beside", "ovs", besideFrames(request("nic", datapath.SegmentationFound, containers("a", "b")))},
		{"testpmd, frames beside", "testpmd", besideFrames(request("nic", datapath.SegmentationFound, containers("a", "b")))},
		{"ovs-dpdk, frames beside", "ovs-dpdk", besideFrames(request("nic", datapath.SegmentationFound, containers("a", "a")))},
		{"ovs whole packets", "ovs", with(request("nic", datapath.SegmentationFound, containers("a", "b")), "tso", true)},
		{"ovs vxlan, two pairs", "ovs", with(request("memory", datapath.SegmentationFound, twoPairs()...), "encapsulation", "vxlan")},
		{"testpmd colocated", "testpmd", request("nic", datapath.SegmentationFound, containers("a", "a"))},
		{"testpmd mac", "testpmd", with(request("memory", datapath.SegmentationOff, containers("a", "b")), "forward", "mac")},
		{"ovs-dpdk vxlan", "ovs-dpdk", with(request("nic", datapath.SegmentationFound, containers("a", "b")), "encapsulation", "vxlan")},
		{"redirect colocated", "redirect", request("nic", datapath.SegmentationOff, containers("a", "a"))},
		{"vrouter colocated", "vrouter", request("nic", datapath.SegmentationFound, containers("a", "a"))},
		{"vrouter colocated flat", "vrouter", flat(request("nic", datapath.SegmentationOff, containers("b", "b")))},
		{"vrouter flat", "vrouter", flat(request("nic", datapath.SegmentationFound, containers("a", "b")))},
		{"vrouter over ipv6, mplsoudp", "vrouter", over6(request("nic", datapath.SegmentationFound, containers("a", "b")), "mplsoudp")},
		{"vrouter over ipv6, mplsogre", "vrouter", over6(request("memory", datapath.SegmentationFound, containers("a", "b")), "mplsogre")},
		{"vrouter over ipv6, vxlan", "vrouter", over6(request("nic", datapath.SegmentationOff, containers("a", "b")), "vxlan")},
		{"vrouter over ipv6, flat", "vrouter", over6(request("nic", datapath.SegmentationFound, containers("a", "b")), "none")},
		{"vrouter over ipv6, colocated", "vrouter", over6(request("nic", datapath.SegmentationFound, containers("a", "a")), "mplsoudp")},
		{"vrouter two pairs", "vrouter", request("nic", datapath.SegmentationFound, twoPairs()...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := raise(t, c.path, c.request)
			for _, pair := range c.request.Pairs {
				b.send(t, pair.From.Name(), pair.To.Name(), 4<<20)
				b.send(t, pair.To.Name(), pair.From.Name(), 4<<20)
			}
		})
	}
}

// All cells of a run stand at once, with the same names and addresses.
func TestCellsDoNotDisturbEachOther(t *testing.T) {
	first := raise(t, "bridge", request("nic", datapath.SegmentationFound, containers("a", "b")))
	other := request("nic", datapath.SegmentationFound, containers("a", "b"))
	other.Cell = "U"
	second := raise(t, "vxlan", other)
	before := second.counters(t, "a", datapath.NIC).txPackets
	first.send(t, "sender", "receiver", 4<<20)
	if after := second.counters(t, "a", datapath.NIC).txPackets; after != before {
		t.Errorf("%v packets of one cell are seen in the other", after-before)
	}
	second.send(t, "sender", "receiver", 4<<20)
}
