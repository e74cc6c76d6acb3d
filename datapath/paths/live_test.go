package paths_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
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
	build := exec.Command("go", "build", "-o", dir, "windtunnel/cmd/vrouter")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the vRouter: %v\n%s", err, out)
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
		Segmentation: segmentation, Options: result.Options{},
	}
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
	}{
		{"wire", "nic", datapath.SegmentationFound, processes()},
		{"wire", "memory", datapath.SegmentationFound, processes()},
		{"wire", "nic", datapath.SegmentationOff, processes()},
		{"bridge", "nic", datapath.SegmentationFound, containers("a", "b")},
		{"bridge", "memory", datapath.SegmentationFound, containers("a", "b")},
		{"bridge", "nic", datapath.SegmentationOff, containers("a", "b")},
		{"vxlan", "nic", datapath.SegmentationFound, containers("a", "b")},
		{"vxlan", "memory", datapath.SegmentationFound, containers("a", "b")},
		{"vxlan", "nic", datapath.SegmentationOff, containers("a", "b")},
		{"vrouter", "nic", datapath.SegmentationFound, containers("a", "b")},
		{"vrouter", "memory", datapath.SegmentationFound, containers("a", "b")},
		{"vrouter", "nic", datapath.SegmentationOff, containers("a", "b")},
	} {
		t.Run(fmt.Sprint(c.path, "-", c.kind, "-", c.segmentation), func(t *testing.T) {
			b := raise(t, c.path, request(c.kind, c.segmentation, c.pair))
			began := time.Now()
			b.send(t, c.pair.From.Name(), c.pair.To.Name(), volume)
			took := time.Since(began)
			wire := b.counters(t, "a", datapath.NIC)
			onWire := wire.txBytes / wire.txPackets
			t.Logf("%.0f bytes a packet on the wire, %.0f of %.0f dropped, %.1f Gbit/s",
				onWire, wire.txDropped, wire.txPackets, volume*8/took.Seconds()/1e9)
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
		{"vxlan colocated", "vxlan", request("nic", datapath.SegmentationFound, containers("b", "b"))},
		{"vxlan two pairs", "vxlan", request("nic", datapath.SegmentationOff, twoPairs()...)},
		{"vrouter colocated", "vrouter", request("nic", datapath.SegmentationFound, containers("a", "a"))},
		{"vrouter colocated flat", "vrouter", flat(request("nic", datapath.SegmentationOff, containers("b", "b")))},
		{"vrouter flat", "vrouter", flat(request("nic", datapath.SegmentationFound, containers("a", "b")))},
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
