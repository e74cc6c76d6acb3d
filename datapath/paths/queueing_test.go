package paths_test

import (
	"fmt"
	"strings"
	"testing"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/ethtool"
	"windtunnel/result"
	"windtunnel/testbed"
)

// queued asks for receive queues and spread work.
func queued(r datapath.Request, vmq, spread string) datapath.Request {
	r.Wire.VMQ, r.Wire.Spread = vmq, spread
	return r
}

func TestQueueingIsRefusedWhereThereIsNone(t *testing.T) {
	one := queued(request("nic", datapath.SegmentationFound, containers("a", "b")), "on", "none")
	one.Wire.Queues = 1
	for name, c := range map[string]struct {
		path    string
		request datapath.Request
		says    string
	}{
		"no wire":      {"bridge", queued(request("nic", datapath.SegmentationFound, containers("a", "a")), "on", "auto"), "its ends are on one node"},
		"memory":       {"bridge", queued(request("memory", datapath.SegmentationFound, containers("a", "b")), "off", "auto"), "take a wire of kind nic"},
		"segmentation": {"bridge", queued(request("nic", datapath.SegmentationOff, containers("a", "b")), "off", "receive"), "segmentation: off"},
		"packets":      {"testpmd", queued(request("nic", datapath.SegmentationFound, containers("a", "b")), "off", "receive"), "packet sockets"},
		"no adapter":   {"wire", queued(request("nic", datapath.SegmentationFound, processes()), "on", "none"), "adapters of containers"},
		"no sender":    {"wire", queued(request("nic", datapath.SegmentationFound, processes()), "auto", "send"), "adapters of containers"},
		"one queue":    {"bridge", one, "nothing to choose"},
		"no LSO":       {"wire", request("nic", datapath.SegmentationNoLSO, processes()), "interfaces of containers"},
	} {
		p, _ := paths.ByName(c.path)
		if _, err := p.Lay(c.request); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// flows opens so many connections one after the other and pushes bytes through each.
func (b *bed) flows(t *testing.T, pair result.Pair, n int) {
	t.Helper()
	for range n {
		b.send(t, pair.From.Name(), pair.To.Name(), 1<<20)
	}
}

// received are the packets of each of a device's receive queues.
func (b *bed) received(t *testing.T, place, device string, queues int) []uint64 {
	t.Helper()
	packets := make([]uint64, queues)
	err := b.stack(place).Do(func() error {
		tool, err := ethtool.Open()
		if err != nil {
			return err
		}
		defer tool.Close()
		counters, err := tool.Stats(device)
		for i := range packets {
			packets[i] = counters[fmt.Sprintf("rx_queue_%d_xdp_packets", i)]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return packets
}

// onTwo gives both nodes two CPUs.
func onTwo(r datapath.Request) datapath.Request {
	r.Nodes = []testbed.Node{{Name: "a", CPUs: []int{0, 1}}, {Name: "b", CPUs: []int{0, 1}}}
	return r
}

func TestQueuesTakeWhatTheyAreFor(t *testing.T) {
	const bulk = 64 // packets: less is ARP and what ends connections
	for _, c := range []struct {
		name, path  string
		vmq, spread string
		pairs       []result.Pair
		queues      int
		used        string // which queues have packets in bulk, in turn; ?: any
	}{
		{"one queue", "bridge", "off", "none", twoPairs(), 1, "x"},
		{"by destination", "bridge", "on", "none", twoPairs(), 3, "-xx"},
		{"by destination, the second alone", "bridge", "on", "none", twoPairs()[1:], 2, "-x"},
		{"by destination, spread", "bridge", "on", "both", twoPairs(), 3, "-xx"},
		{"by flow", "bridge", "off", "receive", twoPairs()[:1], 2, "xx"},
		{"by flow, processes", "wire", "off", "receive", []result.Pair{processes()}, 2, "xx"},
		{"tunnels have the node's address", "vxlan", "on", "none", twoPairs(), 3, "x--"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := raise(t, c.path, onTwo(queued(request("nic", datapath.SegmentationFound, c.pairs...), c.vmq, c.spread)))
			for _, pair := range c.pairs {
				b.flows(t, pair, 16) // by flow all take one queue of two once in 32,768 runs
			}
			if c.queues == 1 {
				if got := b.laid.Graph.Links[0].Ends[1].Queues; got != 1 {
					t.Fatalf("%d queues", got)
				}
				return
			}
			packets, used := b.received(t, "b", datapath.NIC, c.queues), ""
			for _, n := range packets {
				if n > bulk {
					used += "x"
				} else {
					used += "-"
				}
			}
			if used != c.used {
				t.Errorf("queues took %v packets: %s, want %s", packets, used, c.used)
			}
		})
	}
}

// Without large-send offload packets have left the container at the size of the MTU already.
func TestNoLSO(t *testing.T) {
	for _, c := range []struct {
		segmentation datapath.Segmentation
		whole        bool
	}{{datapath.SegmentationFound, true}, {datapath.SegmentationNoLSO, false}} {
		b := raise(t, "bridge", request("nic", c.segmentation, containers("a", "b")))
		b.send(t, "sender", "receiver", 16<<20)
		at := b.counters(t, "sender", datapath.Endpoint)
		if size := at.txBytes / at.txPackets; (size > 5000) != c.whole {
			t.Errorf("%s: %.0f bytes a packet at the container", c.segmentation, size)
		}
	}
}
