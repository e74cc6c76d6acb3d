package vrouter_test

import (
	"encoding/binary"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/packet"
)

// TestPollVhostBulk: TCP and UDP between a VM, another one, a container of the node and one behind a tunnel,
// whatever the VM has agreed to; aggregates come as such where it has.
func TestPollVhostBulk(t *testing.T) {
	for name, features := range map[string]uint64{"all": virtioAll, "checksums": virtioCSUM | virtioGuestCSUM, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP).poll()
			b.a.vhostPort("vm1", 7, 20, config.VhostServer)
			b.a.vhostPort("vm2", 9, 22, config.VhostServer)
			b.b.route("10.0.1.7/32", "10.0.0.1", config.MPLSoUDP, 20)
			b.withIPv6()
			b.asNIC()
			b.run("--lease")
			ports := b.a.config.Ports
			vm1, vm2 := b.a.startGuest(ports[len(ports)-2], features), b.a.startGuest(ports[len(ports)-1], virtioAll)
			b.a.awaitLinked()
			for _, other := range []*container{vm2, b.a1, b.b1} {
				for _, way := range [][2]*container{{vm1, other}, {other, vm1}, {vm1.six(), other.six()}, {other.six(), vm1.six()}} {
					tcp(t, way[0], way[1], pieces)
					udpAggregate(t, way[0], way[1], 1200, 40, false)
				}
			}
			if rx := b.a.vif("vm1").Rx; features == virtioAll && rx.Segments < 4*rx.Packets {
				t.Errorf("of vm1 came %d packets for %d segments", rx.Packets, rx.Segments)
			}
			for reason, packets := range b.a.addsUp().Drops {
				if !ofTheLink[reason] && reason != "tx_full" && reason != "multicast" {
					t.Errorf("%d packets were dropped as %s", packets, reason)
				}
			}
		})
	}
}

// stated is a virtio-net header: linux/virtio_net.h.
type stated struct {
	Flags, Type                      uint8
	Header, Size, SumStart, SumAt, N uint16
}

// Of a stated header.
const (
	needsSum = 1
	gsoTCP4  = 1
	gsoUDP   = 3
)

// lie is a frame of a VM, and what it says of it.
type lie struct {
	says     stated
	protocol string
	size     int // of the IP packet
	change   func(ip []byte)
	name     string // of what becomes of it
}

var lies = map[string]lie{
	"segments of a byte":              {stated{needsSum, gsoTCP4, 54, 1, 34, 16, 0}, "tcp", 60000, nil, "bad_aggregate"},
	"segments of nothing":             {stated{needsSum, gsoTCP4, 54, 0, 34, 16, 0}, "tcp", 3000, nil, "mtu_exceeded"},
	"segments longer than the packet": {stated{needsSum, gsoTCP4, 54, 65535, 34, 16, 0}, "tcp", 1000, nil, "tx_full"},
	"segments longer than the MTU":    {stated{needsSum, gsoTCP4, 54, 1461, 34, 16, 0}, "tcp", 20000, nil, "mtu_exceeded"},
	"datagrams as fragments":          {stated{needsSum, gsoUDP, 42, 1000, 34, 6, 0}, "udp", 20000, nil, "bad_aggregate"},
	"TCP that is UDP":                 {stated{needsSum, gsoTCP4, 54, 1000, 34, 16, 0}, "udp", 3000, nil, "mtu_exceeded"},
	"headers of 64 KiB":               {stated{needsSum, gsoTCP4, 65535, 1000, 34, 16, 0}, "tcp", 20000, nil, "tx_full"},
	"a sum behind the end":            {stated{needsSum, 0, 0, 0, 65000, 65000, 0}, "udp", 1000, nil, "tx_full"},
	"a sum at the very end":           {stated{needsSum, 0, 0, 0, 1012, 1, 0}, "icmp", 1000, nil, "tx_full"},
	"a TCP header behind the end":     {stated{needsSum, gsoTCP4, 54, 1000, 34, 16, 0}, "tcp", 50, func(ip []byte) { ip[32] = 15 << 4 }, "bad_transport"},
	"a packet shorter than its frame": {stated{needsSum, gsoTCP4, 54, 1000, 34, 16, 0}, "tcp", 20000, func(ip []byte) { setLength(ip, 3000) }, "joined"},
	"a fragment":                      {stated{needsSum, gsoTCP4, 54, 1000, 34, 16, 0}, "tcp", 20000, func(ip []byte) { ip[6] = 0x20; setLength(ip, 20000) }, "mtu_exceeded"},
	"a kind that there is not":        {stated{255, 255, 65535, 65535, 65535, 65535, 65535}, "tcp", 1000, nil, "tx_full"},
	"no more than a header":           {stated{needsSum, gsoTCP4, 54, 1000, 34, 16, 0}, "", 0, nil, "spoofed_mac"},
}

func setLength(ip []byte, bytes int) {
	binary.BigEndian.PutUint16(ip[2:], uint16(bytes))
	copy(ip[10:], []byte{0, 0})
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum>>16+sum))
}

func (l lie) frame(t *testing.T, from, to config.Port) []byte {
	t.Helper()
	frame := make([]byte, 14)
	if l.protocol != "" {
		var err error
		spec := packet.Spec{
			SourceMAC: from.MAC, DestinationMAC: config.GatewayMAC, Source: from.Address, Destination: to.Address, Protocol: l.protocol,
			SourcePort: 5, DestinationPort: 6, TTL: 9, Size: l.size,
		}
		if frame, err = packet.Build(spec); err != nil {
			t.Fatal(err)
		}
	}
	if l.protocol == "tcp" {
		frame[14+33] = 0x10 // ACK
	}
	if l.change != nil {
		l.change(frame[14:])
	}
	header, _ := binary.Append(nil, binary.LittleEndian, l.says) // its size is fixed
	return append(header, frame...)
}

// TestPollVhostBadAggregates: whatever a VM states of a frame, it stops nobody, and what becomes of the frame
// has its name. Nobody is at the port that they are for, so what is forwarded is dropped as tx_full.
func TestPollVhostBadAggregates(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	g := newGuest(t, vm1.Vhost, virtioVersion|virtioAll)
	lab.Await(t, "the VM is there", func() bool { return len(n.unlinked()) == 1 })
	for name, l := range lies {
		t.Run(name, func(t *testing.T) {
			before := ask[control.Stats](n, "stats")
			if !g.transmit(l.frame(t, vm1, vm2)) {
				t.Fatal("the device has taken none of the frames before")
			}
			var after control.Stats
			lab.Await(t, "the packet is in the account", func() bool {
				after = ask[control.Stats](n, "stats")
				return after.Received.Packets > before.Received.Packets
			})
			after = n.addsUp()
			if got := after.Drops[l.name] - before.Drops[l.name]; got == 0 || after.Dropped.Packets-before.Dropped.Packets != got {
				t.Errorf("not one packet was dropped as %s: %v after %v", l.name, after.Drops, before.Drops)
			}
		})
	}
	if s := ask[control.Status](n, "status"); s.Poll.Restarts != 0 || s.Problem != "" {
		t.Errorf("%d restarts, problem %q", s.Poll.Restarts, s.Problem)
	}
}
