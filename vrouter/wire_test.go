package vrouter_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
)

// onTheWire is how tshark names the packets of each encapsulation.
var onTheWire = map[config.Encapsulation]string{
	config.MPLSoUDP: "udp.dstport==6635 && udp.srcport>=49152 && mpls.label && mpls.bottom==1",
	config.MPLSoGRE: "gre.proto==0x8847 && mpls.label && mpls.bottom==1",
	config.VXLAN:    "udp.dstport==4789 && udp.srcport>=49152 && vxlan.vni==5001",
}

// TestWire: an independent decoder finds what was configured and nothing to object to.
func TestWire(t *testing.T) {
	for encapsulation, filter := range onTheWire {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation).withIPv6()
			wire(t, b, innerMTU(encapsulation), filter)
		})
		t.Run("over IPv6, "+string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation).withIPv6().overIPv6()
			// The same number twice: vr_build_tunnel.h. A flow label beside GRE must not be 0.
			label := map[bool]string{true: "ipv6.flow>=0xc000", false: "ipv6.flow==udp.srcport"}[encapsulation == config.MPLSoGRE]
			wire(t, b, innerMTU6(encapsulation), filter+" && ipv6.hlim==64 && "+label)
		})
	}
}

// ofNeighbours are the frames by which hosts know each other on an IPv6 wire, and those of bridged containers, which
// ask again when a slow machine makes them wait: they are inside a tunnel.
const ofNeighbours = "icmpv6.type>=130 && icmpv6.type<=143"

// wire also tells tshark how to decode what does not say what it is: arguments of its own.
func wire(t *testing.T, b *bed, mtu int, filter string, decode ...string) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("skip: needs tshark")
	}
	for _, c := range []*container{b.a1, b.b1} { // or unfinished checksums would be captured
		offload(c.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
	}
	offload(b.a.Namespace, "wire0", noSegmentation)
	offload(b.b.Namespace, "wire0", noSegmentation)
	portsOfNobody(b.a1, b.b1)
	b.run("--lease")
	if err := errors.Join(ping(b.a1, b.b1.address, 56), ping6(b.a1.six(), b.b1.six().address, 56)); err != nil { // also ends ARP
		t.Fatal(err)
	}
	stop := capture(t, b.a, "wire0")
	if err := ping(b.a1, b.b1.address, mtu-28); err != nil {
		t.Error(err)
	}
	tcp(t, b.a1, b.b1, 200_000)
	udpAggregate(t, b.a1, b.b1, 1200, 20, false)
	if err := ping6(b.a1.six(), b.b1.six().address, mtu-48); err != nil {
		t.Error(err)
	}
	tcp(t, b.a1.six(), b.b1.six(), 200_000)
	udpAggregate(t, b.a1.six(), b.b1.six(), 1200, 20, false)
	b.a1.SetMTU("eth0", mtu) // so that fragments fit
	fragments(t, b.a1, b.b1)
	fragments(t, b.a1.six(), b.b1.six())
	read := decoder(t, tshark, stop(), decode)
	others := "!(" + ofNeighbours + ")"
	if all, right := read(others, "frame.number"), read(others+" && ("+filter+")", "frame.number"); len(all) != len(right) || len(all) < 100 {
		t.Errorf("%d frames, of which %d are %s", len(all), len(right), filter)
	}
	for _, family := range []string{"ip", "ipv6"} { // that is, tshark put them together, and read what is inside
		if whole := read(family+".fragment.count==3 && udp.checksum.status==1 && udp.length>=4008", "frame.number"); len(whole) != fragmented {
			t.Errorf("%d datagrams of %s came in three fragments, not %d", len(whole), family, fragmented)
		}
	}
	if bad := read(objections, "frame.number", "_ws.expert.message"); len(bad) > 0 {
		t.Errorf("tshark objects: %s", bad)
	}
}

// portsOfNobody lets containers choose among ports by which tshark knows no protocol: 4.0's end at 60001. Random payload is
// that protocol's to it else.
func portsOfNobody(containers ...*container) {
	for _, c := range containers {
		c.Do(func() error {
			return os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("61000 65535"), 0o644)
		})
	}
}

// decoder gives the fields of a pcap file's frames that a filter of tshark finds, a line each.
func decoder(t *testing.T, tshark string, pcap []byte, decode []string) func(filter string, fields ...string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wire.pcap")
	writeFile(t, file, pcap)
	guessing := guessingOff(t, tshark)
	return func(filter string, fields ...string) []string {
		// Over IPv6 a tunnel's checksum may be 0: RFC 6935, section 5.
		args := append(slices.Clip(guessing), "-r", file, "-n", "-o", "udp.ignore_ipv6_zero_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-Y", filter, "-T", "fields")
		args = append(args, decode...)
		for _, f := range fields {
			args = append(args, "-e", f)
		}
		out, err := exec.Command(tshark, args...).Output()
		if err != nil {
			t.Fatalf("running tshark: %v", err)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	}
}

// guessingOff are arguments by which tshark takes no bytes of UDP or TCP for a protocol's because they look like it: payload is
// random here, and some looks like anything.
func guessingOff(t *testing.T, tshark string) (args []string) {
	t.Helper()
	out, err := exec.Command(tshark, "-G", "heuristic-decodes").Output()
	if err != nil {
		t.Fatalf("asking tshark what it guesses: %v", err)
	}
	for line := range strings.Lines(string(out)) { // below which protocol, which one, whether it is on
		if f := strings.Fields(line); len(f) >= 2 && (f[0] == "udp" || f[0] == "tcp") {
			args = append(args, "--disable-protocol", f[1])
		}
	}
	if len(args) == 0 {
		t.Fatalf("tshark lists no protocols that it guesses:\n%s", out)
	}
	return args
}

// objections are what tshark may not have to say. A sum that comes out as 0 is written as 0xffff, for TCP as for UDP:
// skb_checksum_help in net/core/dev.c. tshark both warns of it and calls it bad, although it adds up: RFC 1624, section 3.
const objections = "_ws.expert.severity>=6291456 && !tcp.analysis.flags && !tcp.options.sack.dsack && !tcp.checksum.ffff || ip.checksum.status==0 || tcp.checksum.status==0 && !tcp.checksum.ffff || udp.checksum.status==0 || icmpv6.checksum.status==0"
