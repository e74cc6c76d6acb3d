package vrouter_test

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// TestHiddenPorts: a fragment that shows a policy an allowed port behind its end is lost, and so is the
// next, which has the real one (RFC 7112).
func TestHiddenPorts(t *testing.T) {
	b := flowBed(t, config.MPLSoUDP)
	b.a.config.Policies = []config.Policy{{Name: "web", Default: config.Deny, Rules: []config.Rule{
		{Direction: "out", Protocol: "tcp", Ports: config.Ports{First: 80, Last: 80}, Action: config.Allow},
	}}}
	b.run("--lease")
	from, to := b.a1.six().address, b.b1.six().address
	const options = "0600010400000000" // destination options, TCP behind them
	sendFrame(t, b.a1, b.fragment6(from, to, "3c00000100000007"+options, "9c400050"+"00000001000000005002ffff00000000"))
	sendFrame(t, b.a1, b.fragment6(from, to, "3c00000800000007"+"9c400016"+"00000001000000005002ffff00000000", ""))
	lab.Await(t, "both fragments are lost by name", func() bool {
		drops := ask[control.Stats](b.a, "stats").Drops
		return drops["truncated"] == 1 && drops["fragment_unknown"] == 1
	})
	b.a.addsUp()
}

// TestJoinedTunnels: a feature that joins tunnel packets by their outer headers is told, where it matters.
func TestJoinedTunnels(t *testing.T) {
	for _, way := range []config.Receive{config.ReceiveTC, config.ReceiveXDP} {
		t.Run(string(way), func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP)
			b.asNIC()
			b.receive(way)
			b.run("--lease")
			problem := func() string { return ask[control.Status](b.a, "status").Problem }
			offload(b.a.Namespace, "wire0", map[string]bool{"rx-udp-gro-forwarding": true})
			if way == config.ReceiveXDP {
				b.a.RemoveAddress("wire0", b.a.config.Fabric.Address.String()+"/24")
				lab.Await(t, "it was looked at again", func() bool { return strings.Contains(problem(), "has no address") })
				if p := problem(); strings.Contains(p, "joins") {
					t.Error(p)
				}
				return
			}
			const says = "the fabric's interface wire0 joins tunnel packets by their outer headers, which loses them; `ethtool -K wire0 rx-udp-gro-forwarding off`"
			lab.Await(t, "the status tells", func() bool { return problem() == says })
			offload(b.a.Namespace, "wire0", map[string]bool{"rx-udp-gro-forwarding": false})
			lab.Await(t, "it is well again", func() bool { return problem() == "" })
		})
	}
}

// fragment6 is a frame from a1 to the gateway: an IPv6 fragment, and what is behind its end.
func (b *bed) fragment6(from, to netip.Addr, content, behind string) []byte {
	payload, _ := hex.DecodeString(content)
	trailer, _ := hex.DecodeString(behind)
	gateway, port := config.GatewayMAC, b.a.config.Ports[0].MAC
	ip := []byte{0x60, 0, 0, 0, 0, 0, 44, 64}
	binary.BigEndian.PutUint16(ip[4:], uint16(len(payload)))
	return slices.Concat(gateway[:], port[:], []byte{0x86, 0xdd}, ip, from.AsSlice(), to.AsSlice(), payload, trailer)
}

// sendFrame sends a frame out of a container as it is.
func sendFrame(t *testing.T, c *container, frame []byte) {
	t.Helper()
	c.Do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: c.Link("eth0").Attrs().Index})
	})
}
