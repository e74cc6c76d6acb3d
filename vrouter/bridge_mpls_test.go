package vrouter_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

// frameMTU is what a bridge's tunnel leaves of the wire's MTU.
func frameMTU(e config.Encapsulation, six, word bool) int {
	mtu := wireMTU - int(config.FrameOverhead[e])
	if six {
		mtu -= 20
	}
	if word && e != config.VXLAN {
		mtu -= 4
	}
	return mtu
}

// labelled are the ways in which MPLS carries a link's frames.
func labelled(t *testing.T, run func(t *testing.T, b *bed, e config.Encapsulation, six, word bool)) {
	for _, e := range []config.Encapsulation{config.MPLSoUDP, config.MPLSoGRE} {
		for i := range 4 {
			six, word := i&1 != 0, i&2 != 0
			name := string(e) + map[bool]string{true: " over IPv6"}[six] + map[bool]string{true: " with control words"}[word]
			t.Run(name, func(t *testing.T) {
				b := newBed(t, e).withIPv6()
				if six {
					b.overIPv6()
				}
				run(t, b.bridgedBy(e, config.Bridge{ControlWord: word}), e, six, word)
			})
		}
	}
}

// TestBridgeMPLS: as TestBridge, with frames behind a label. Nothing else but the question who has an
// address is flooded.
func TestBridgeMPLS(t *testing.T) {
	labelled(t, func(t *testing.T, b *bed, e config.Encapsulation, six, word bool) {
		mtu := frameMTU(e, six, word)
		b.run("--lease")
		forwards(t, b, mtu, true)
		crosses(t, b, mtu, true)
		b.oneHop(t)
		offload(b.a.Namespace, "wire0", noSegmentation)
		offload(b.b.Namespace, "wire0", noSegmentation)
		crosses(t, b, mtu, false)
		offload(b.a1.Namespace, "eth0", noSegmentation)
		offload(b.b1.Namespace, "eth0", noSegmentation)
		offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
		crosses(t, b, mtu, false)
		mtu4(t, b, mtu)
		mtu6(t, b, mtu)
		for _, n := range []*node{b.a, b.b} {
			s := n.addsUp()
			onlyOfTheLink(t, s.Drops)
			if s.Flooded.Packets == 0 || s.CopiesDropped.Packets != 0 {
				t.Errorf("%s flooded %+v; lost %v", n.config.Name, s.Flooded, s.CopyDrops)
			}
		}
	})
}

// TestBridgeMPLSWire: an independent decoder has nothing to object to.
func TestBridgeMPLSWire(t *testing.T) {
	labelled(t, func(t *testing.T, b *bed, e config.Encapsulation, six, word bool) {
		filter := onTheWire[e] + " && eth.dst contains 02:00:00:00:01 && " + map[bool]string{true: "pwethcw", false: "!pwethcw"}[word]
		wire(t, b, frameMTU(e, six, word), filter, decodeFrames(word)...)
	})
}

// decodeFrames tells tshark what is behind the labels.
func decodeFrames(word bool) []string {
	kind := map[bool]string{true: "pwethcw", false: "pwethnocw"}[word]
	return []string{"-d", fmt.Sprintf("mpls.label==%d,%s", bridgeLabel(0), kind), "-d", fmt.Sprintf("mpls.label==%d,%s", bridgeLabel(1), kind)}
}

// TestBridgeMPLSTools: the tables show labels of frames, and a trace tells what they lead to.
func TestBridgeMPLSTools(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).bridgedBy(config.MPLSoUDP, config.Bridge{ControlWord: true})
	b.a.config.Networks[0].Label = 60
	b.run("--lease")
	for command, want := range map[string][]string{
		"mac":  {"network1  02:00:00:00:01:04", "62", "10.0.0.2"},
		"mpls": {"60     ", "network1  routed", "61     ", "network1  bridged"},
		"nh":   {"bridge         network1", "10.0.0.2  mplsoudp-l2-word", "1450"},
		"trace --port a1 --to 10.0.1.4 --mac 02:00:00:00:01:04": {"the whole frame gets the tunnel's headers", "label 62", "control word  0x00000000", "02:00:00:00:01:03 > 02:00:00:00:01:04"},
	} {
		out, _ := b.a.tool(strings.Fields(command)...)
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%s: not %q in\n%s", command, text, out)
			}
		}
	}
}

// TestBridgeMixed: three nodes of a link are reached in three ways, and what is for an address that nobody
// has named goes to all, in aggregates. Of the nodes one is there, each time another; it gets what was
// sent, and so do the others, by the decoder.
func TestBridgeMixed(t *testing.T) {
	for _, e := range []config.Encapsulation{config.MPLSoUDP, config.MPLSoGRE, config.VXLAN} {
		t.Run(string(e), func(t *testing.T) { mixed(t, e, false, false) })
		t.Run(string(e)+" over IPv6 with control words", func(t *testing.T) { mixed(t, e, true, true) })
	}
}

func mixed(t *testing.T, e config.Encapsulation, six, word bool) {
	b := newBed(t, e).withIPv6()
	if six {
		b.overIPv6()
	}
	b.bridgedBy(e, config.Bridge{ControlWord: word})
	bridge := b.a.config.Networks[0].Bridge
	bridge.Hosts = nil
	if e != config.VXLAN {
		b.a.config.Networks[0].VNI = vni
	}
	for last, other := range []config.Encapsulation{config.VXLAN, config.MPLSoUDP, config.MPLSoGRE} {
		if other != e {
			bridge.Nodes = append(bridge.Nodes, b.a.absent(byte(10+last), other))
		}
	}
	mtu := frameMTU(config.VXLAN, six, word) // the least of all
	for _, c := range []*container{b.a1, b.a2, b.b1} {
		c.SetMTU("eth0", mtu)
	}
	b.run("--lease")
	crosses(t, b, mtu, true)
	offload(b.a.Namespace, "wire0", noSegmentation)
	offload(b.b.Namespace, "wire0", noSegmentation)
	for _, c := range []*container{b.a1, b.b1} { // or unfinished checksums would be captured
		offload(c.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
	}
	portsOfNobody(b.a1, b.b1)
	stop := capture(t, b.a, "wire0")
	tcp(t, b.a1, b.b1, 100_000)
	tcp(t, b.a1.six(), b.b1.six(), 100_000)
	udpAggregate(t, b.a1, b.b1, 1200, 20, false)
	udpAggregate(t, b.a1.six(), b.b1.six(), 1200, 20, false)
	reachedAlike(t, b, stop(), word)
	s := b.a.addsUp()
	if s.CopiesDropped.Packets != 0 {
		t.Errorf("copies were lost: %v", s.CopyDrops)
	}
}

// absent is a node that is not there, but whose MAC address is known.
func (n *node) absent(last byte, e config.Encapsulation) config.Via {
	n.t.Helper()
	via := config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 0, 0, last}), Encapsulation: e}
	if n.fabric().Is6() {
		via.Tunnel = fabric6(last)
	}
	if e != config.VXLAN {
		via.Label = bridgeLabel(1)
	}
	lab.Neighbour(n.Namespace, "wire0", via.Tunnel.String(), fmt.Sprintf("02:00:00:00:99:%02x", last))
	return via
}

// reachedAlike checks that all nodes got the same of what a1 sent, and that it was right.
func reachedAlike(t *testing.T, b *bed, pcap []byte, word bool) {
	t.Helper()
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("skip: needs tshark")
	}
	read := decoder(t, tshark, pcap, decodeFrames(word))
	count := make(map[string]int)
	for _, e := range []config.Encapsulation{config.VXLAN, config.MPLSoUDP, config.MPLSoGRE} {
		count[string(e)] = len(read(onTheWire[e]+" && eth.src==02:00:00:00:01:03 && (tcp.len>0 || udp.length==1208)", "frame.number"))
	}
	for e, n := range count {
		if n != count["vxlan"] || n < 180 {
			t.Errorf("%d frames by %s, of %v", n, e, count)
		}
	}
	if bad := read(objections, "frame.number", "_ws.expert.message"); len(bad) > 0 {
		t.Errorf("tshark objects: %s", strings.Join(bad[:min(len(bad), 20)], "\n"))
	}
}
