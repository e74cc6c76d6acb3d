package vrouter_test

import (
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

// TestPollChecksum: with the switch, all tunnel packets with UDP that poll mode sends have a checksum, which an
// independent decoder finds right: of what is cut, of fragments, and of copies of what is for all.
func TestPollChecksum(t *testing.T) {
	beds := map[string]func(t *testing.T) (b *bed, mtu int, encapsulation config.Encapsulation){
		"mplsoudp": func(t *testing.T) (*bed, int, config.Encapsulation) {
			return newBed(t, config.MPLSoUDP).withIPv6(), innerMTU(config.MPLSoUDP), config.MPLSoUDP
		},
		"over IPv6, vxlan": func(t *testing.T) (*bed, int, config.Encapsulation) {
			return newBed(t, config.VXLAN).withIPv6().overIPv6(), innerMTU6(config.VXLAN), config.VXLAN
		},
		"bridged, vxlan": func(t *testing.T) (*bed, int, config.Encapsulation) {
			return newBed(t, config.VXLAN).withIPv6().bridged(), innerMTU(config.VXLAN), config.VXLAN
		},
	}
	for name, lay := range beds {
		t.Run(name, func(t *testing.T) {
			b, mtu, encapsulation := lay(t)
			b.poll().a.config.Fabric.UDPChecksum = true
			wire(t, b, mtu, onTheWire[encapsulation]+" && (ip.src==10.0.0.2 || ipv6.src==fd00:f::2 || !(udp.checksum==0))")
		})
	}
}

// TestPollChecksumPeer: the kernel's VXLAN device, which loses packets with a wrong checksum, gets all of them: those
// whose inner checksum a container leaves to a device, and aggregates.
func TestPollChecksumPeer(t *testing.T) {
	for name, six := range map[string]bool{"over IPv4": false, "over IPv6": true} {
		t.Run(name, func(t *testing.T) {
			a, a1, peer := newKernelPeer(t, six, true)
			(&bed{a: a}).poll().a.config.Fabric.UDPChecksum = true
			a.run("--lease")
			lab.Await(t, "the tunnel is resolved", a.resolved)
			mtu := innerMTU(config.VXLAN)
			if six {
				mtu = innerMTU6(config.VXLAN)
			}
			reachPeer(t, a1, peer, mtu, false)
			if wrong := (&node{Namespace: peer.Namespace, t: t}).counted("Udp:", "InCsumErrors"); wrong != "0" {
				t.Errorf("the peer found %s checksums wrong", wrong)
			}
		})
	}
}

// TestChecksumIsPollModes: the kernel mode refuses the switch, and says why; nothing has changed then.
func TestChecksumIsPollModes(t *testing.T) {
	lab.NeedRoot(t)
	b := newBed(t, config.MPLSoUDP)
	good := b.a.config
	b.a.config.Fabric.UDPChecksum = true
	if text, code := b.a.runs("--socket", b.a.socket()); code != 2 || !strings.Contains(text, "SKB_GSO_UDP_TUNNEL_CSUM") || !strings.Contains(text, "--mode poll") {
		t.Errorf("exit code %d: %s", code, text)
	}
	b.a.config = good
	b.run("--lease")
	b.a.config.Fabric.UDPChecksum = true
	if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), "fabric") {
		t.Errorf("a running one: %v", err)
	}
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
}
