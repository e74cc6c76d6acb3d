package vrouter_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// TestFlowBridge: on a link, too, what the policy allows passes both ways, from another node and from
// beside, and nothing else does, while hosts find each other as without one.
func TestFlowBridge(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.VXLAN).bridged())
		b.run("--lease")
		for i, f := range b.families() {
			t.Run(f.name, func(t *testing.T) {
				for _, peer := range []*container{f.far, f.beside} {
					flowPasses(t, f.inside, peer)
					flowDenies(b.a, f.inside, peer)
				}
				tcp(t, f.inside, f.far, bulk) // aggregates, both ways of the flow
				for from, to := range map[*container]*container{f.inside: f.far, f.far: f.inside} {
					if err := unreachable(from, to); !errors.Is(err, syscall.ECONNREFUSED) {
						t.Errorf("no error came to %s: %v", from.address, err)
					}
				}
				forge(t, f.far, f.inside)
				lab.Await(t, "an error that quotes no flow's packet is lost", func() bool { return b.a.drops()["icmp_unrelated"] == uint64(i+1) })
			})
		}
		b.oneHop(t)
		flows := ask[control.Flows](b.a, "flow")
		if flows.Matched == 0 || flows.States["established"] == 0 || uint64(flows.Matched) != flows.Networks[0].Flows {
			t.Errorf("the flows: %+v", flows)
		}
		b.a.addsUp()
	})
}

// TestFlowBridgeBroadcast: a copy is kept from the port whose policy denies it, and goes to the others.
func TestFlowBridgeBroadcast(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.VXLAN).bridged())
		b.run("--lease")
		for _, from := range []*container{b.b1, b.a2} {
			open := b.a2
			if from == b.a2 {
				open = b.b1
			}
			a1, other := lab.NewTap(b.a1.Namespace, "eth0"), lab.NewTap(open.Namespace, "eth0")
			before := ask[control.Stats](b.a, "stats").CopyDrops["policy_denied"]
			s := broadcasting(t, from)
			for _, port := range []uint16{9, 10} { // webOnly allows one of them
				if _, err := s.WriteToUDPAddrPort([]byte("to all"), netip.AddrPortFrom(netip.MustParseAddr("10.0.1.255"), port)); err != nil {
					t.Fatal(err)
				}
				of4(other.Next)
			}
			if frame := of4(a1.Next); len(frame) != 14+28+6 || frame[14+22+1] != 9 {
				t.Errorf("what is allowed: %x", frame)
			}
			if frame := of4(a1.Pending); frame != nil {
				t.Errorf("what is denied came: %x", frame)
			}
			stats := b.a.addsUp()
			if n := stats.CopyDrops["policy_denied"]; n != before+1 || stats.Drops["policy_denied"] != 0 {
				t.Errorf("%d copies and %d packets are counted as denied", n-before, stats.Drops["policy_denied"])
			}
		}
	})
}

// of4 is the next frame of IPv4, if there is one: hosts of IPv6 tell their link what groups they listen to
// whenever they please.
func of4(next func() []byte) []byte {
	for {
		if frame := next(); frame == nil || frame[12] == 0x08 && frame[13] == 0x00 {
			return frame
		}
	}
}

// broadcasting is a socket that may send to all.
func broadcasting(t *testing.T, c *container) *net.UDPConn {
	t.Helper()
	s := udpSocket(t, c, 0)
	raw, err := s.SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFlowBridgeTools: a trace tells what the policies say of a link's frames, and of each copy.
func TestFlowBridgeTools(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.VXLAN).bridged())
		b.run("--lease")
		for command, want := range map[string][]string{
			"trace --port a1 --to 10.0.1.4 --mac 02:00:00:00:01:04":                          {"port a1: its policy lets a new flow begin", "the whole frame gets the tunnel's headers"},
			"trace --port a2 --to 10.0.1.3 --mac 02:00:00:00:01:03 --proto tcp --dport 80":   {"port a1: its policy lets a new flow begin", "the frame goes on as it is"},
			"trace --port a2 --to 10.0.1.3 --mac 02:00:00:00:01:03 --proto tcp --dport 81":   {"policy_denied"},
			"trace --port a2 --to 10.0.1.3 --proto arp":                                      {"port a1: ARP and neighbour discovery pass without it being asked", "to port a1", "to 10.0.0.2"},
			"trace --port a2 --to 10.0.1.255 --mac ff:ff:ff:ff:ff:ff --proto udp --dport 10": {"none to port a1: policy_denied", "to 10.0.0.2"},
		} {
			out, _ := b.a.tool(strings.Fields(command)...)
			for _, text := range want {
				if !strings.Contains(out, text) {
					t.Errorf("%s: not %q in\n%s", command, text, out)
				}
			}
		}
		if n := b.a.flowsOf("network1"); n != 0 {
			t.Errorf("traces left %d flows", n)
		}
	})
}
