package vrouter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// webOnly lets a port open what it wants, and be reached at TCP port 80, at UDP port 9, where nobody
// is, and by echo requests.
var webOnly = config.Policy{Name: "web", Default: config.Deny, Rules: []config.Rule{
	{Direction: "out", Action: config.Allow},
	{Direction: "in", Protocol: "icmp", Action: config.Allow},
	{Direction: "in", Protocol: "icmp6", Action: config.Allow},
	{Direction: "in", Protocol: "udp", Ports: config.Ports{First: 9, Last: 9}, Action: config.Allow},
	{Direction: "in", Protocol: "tcp", Remote: subnet6, Ports: config.Ports{First: 80, Last: 80}, Action: config.Allow},
	{Direction: "in", Protocol: "tcp", Remote: netip.MustParsePrefix("10.0.1.0/24"), Ports: config.Ports{First: 80, Last: 80}, Action: config.Allow},
}}

// flowBed is a bed of both families on which the port a1 is in flow mode.
func flowBed(t *testing.T, e config.Encapsulation) *bed {
	b := newBed(t, e).withIPv6()
	b.a.config.Policies = []config.Policy{webOnly}
	b.a.config.Ports[0].Flow.Policy = "web"
	return b
}

// sameFamily are containers under their addresses of one family.
type sameFamily struct {
	name           string
	inside, beside *container // on the node, in flow mode and not
	far            *container // on the other node
}

func (b *bed) families() []sameFamily {
	return []sameFamily{{"ipv4", b.a1, b.a2, b.b1}, {"ipv6", b.a1.six(), b.a2.six(), b.b1.six()}}
}

// pings sends an echo request of either family.
func pings(from, to *container) error {
	if to.address.Is6() {
		return ping6(from, to.address, 56)
	}
	return ping(from, to.address, 56)
}

// connect tries to open a TCP connection.
func connect(ctx context.Context, from, to *container, port uint16) (conn net.Conn, err error) {
	from.Do(func() error {
		dialer := net.Dialer{Timeout: patience}
		conn, err = dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(to.address, port).String())
		return nil
	})
	return conn, err
}

// reaches tells whether a datagram that nothing should stop arrives.
func reaches(from, to *net.UDPConn) bool {
	from.WriteTo([]byte("datagram"), to.LocalAddr())
	return arrives(to, patience)
}

func arrives(at *net.UDPConn, within time.Duration) bool {
	at.SetReadDeadline(time.Now().Add(within))
	_, err := at.Read(make([]byte, 64))
	return err == nil
}

// denied sends a datagram that the node must count as denied, and that does not arrive.
func (n *node) denied(from, to *net.UDPConn) {
	n.t.Helper()
	before := n.drops()["policy_denied"]
	from.WriteTo([]byte("datagram"), to.LocalAddr())
	lab.Await(n.t, "the datagram is denied", func() bool { return n.drops()["policy_denied"] == before+1 })
	if arrives(to, time.Millisecond) {
		n.t.Errorf("a datagram from %s arrived", from.LocalAddr())
	}
}

func (n *node) drops() map[string]uint64 { return ask[control.Stats](n, "stats").Drops }

// TestFlow: what the policy allows passes both ways, from the fabric and from beside, and nothing
// else does.
func TestFlow(t *testing.T) {
	for _, e := range []config.Encapsulation{config.MPLSoUDP, config.VXLAN, config.NoEncapsulation} {
		t.Run(string(e), func(t *testing.T) { testFlow(t, flowBed(t, e)) })
	}
	t.Run("poll", func(t *testing.T) { testFlow(t, flowBed(t, config.MPLSoUDP).poll()) })
}

func testFlow(t *testing.T, b *bed) {
	b.run("--lease")
	for _, f := range b.families() {
		for _, peer := range []*container{f.far, f.beside} {
			flowPasses(t, f.inside, peer)
			flowDenies(b.a, f.inside, peer)
		}
		tcp(t, f.inside, f.far, bulk) // aggregates, both ways of the flow
	}
	flows := ask[control.Flows](b.a, "flow")
	if flows.Matched == 0 || flows.States["established"] == 0 || uint64(flows.Matched) != flows.Networks[0].Flows {
		t.Errorf("the flows: %+v", flows)
	}
	b.a.addsUp()
}

// TestFlowReceive: packets whose tunnel XDP took off are checked as others, and a watch shows those that
// flow mode loses.
func TestFlowReceive(t *testing.T) {
	for _, way := range []config.Receive{config.ReceiveTC, config.ReceiveXDP} {
		t.Run(string(way), func(t *testing.T) {
			b := flowBed(t, config.MPLSoUDP)
			b.receive(way)
			b.run("--lease")
			if s := ask[control.Status](b.a, "status"); s.Receive != string(way) {
				t.Fatalf("received by %s: %s", s.Receive, s.ReceiveWhy)
			}
			for _, f := range b.families() {
				flowPasses(t, f.inside, f.far)
				flowDenies(b.a, f.inside, f.far)
			}
			b.a.addsUp()
			if !slices.Contains(b.a.ready["kernel_features"].([]any), any("tcx")) {
				t.Skip("skip: needs tcx (Linux 6.6)")
			}
			mine, theirs := udpSocket(t, b.a1, 0), udpSocket(t, b.b1, 0)
			results := b.a.watch(t, 3)
			b.a.denied(theirs, mine)
			if !reaches(mine, theirs) || !reaches(theirs, mine) {
				t.Error("a datagram or its reply was lost")
			}
			want := []string{"fabric wire0 drop", "port a1 tunnel", "fabric wire0 decap"}
			if got := <-results; !slices.Equal(got, want) {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
}

func flowPasses(t *testing.T, inside, peer *container) {
	t.Helper()
	for to, from := range map[*container]*container{inside: peer, peer: inside} {
		if err := pings(from, to); err != nil {
			t.Errorf("ping from %s: %v", from.address, err)
		}
	}
	defer listen(t, inside, 80).Close()
	conn, err := connect(context.Background(), peer, inside, 80)
	if err != nil {
		t.Fatalf("port 80 is allowed: %v", err)
	}
	conn.Close()
	mine, theirs := udpSocket(t, inside, 0), udpSocket(t, peer, 0)
	if !reaches(mine, theirs) || !reaches(theirs, mine) {
		t.Error("a datagram or its reply was lost")
	}
}

func listen(t *testing.T, at *container, port uint16) (listener net.Listener) {
	t.Helper()
	at.Do(func() (err error) {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(at.address, port).String())
		return err
	})
	return listener
}

func flowDenies(n *node, inside, peer *container) {
	n.t.Helper()
	n.denied(udpSocket(n.t, peer, 0), udpSocket(n.t, inside, 0))
	defer listen(n.t, inside, 81).Close()
	before := n.drops()["policy_denied"]
	ctx, giveUp := context.WithCancel(context.Background())
	tried := make(chan error, 1)
	go func() {
		conn, err := connect(ctx, peer, inside, 81)
		if err == nil {
			conn.Close()
		}
		tried <- err
	}()
	lab.Await(n.t, "the connection is denied", func() bool { return n.drops()["policy_denied"] > before })
	giveUp()
	if err := <-tried; err == nil {
		n.t.Error("port 81 was reached")
	}
}

// TestFlowICMPErrors: "port unreachable" reaches whoever sent the packet that it quotes, in both
// directions, and one that quotes no packet of a flow is lost.
func TestFlowICMPErrors(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.MPLSoUDP))
		b.run("--lease")
		for i, f := range b.families() {
			t.Run(f.name, func(t *testing.T) {
				for from, to := range map[*container]*container{f.inside: f.far, f.far: f.inside} {
					if err := unreachable(from, to); !errors.Is(err, syscall.ECONNREFUSED) {
						t.Errorf("no error came to %s: %v", from.address, err)
					}
				}
				before := b.a.drops()["icmp_unrelated"]
				if before != uint64(i) {
					t.Errorf("%d errors were lost", before)
				}
				forge(t, f.far, f.inside)
				lab.Await(t, "an error that quotes no flow's packet is lost", func() bool { return b.a.drops()["icmp_unrelated"] == before+1 })
			})
		}
		b.a.addsUp()
	})
}

// unreachable sends a datagram to port 9, and gives the error that comes back.
func unreachable(from, to *container) (err error) {
	from.Do(func() error {
		var conn net.Conn
		if conn, err = net.Dial("udp", netip.AddrPortFrom(to.address, 9).String()); err != nil {
			return nil
		}
		defer conn.Close()
		if _, err = conn.Write([]byte("nobody")); err == nil {
			conn.SetReadDeadline(time.Now().Add(patience))
			_, err = conn.Read(make([]byte, 64))
		}
		return nil
	})
	return err
}

// forge sends "port unreachable" about a datagram that was never sent.
func forge(t *testing.T, from, to *container) {
	t.Helper()
	const quoted = 48 // room for either header, and 8 bytes
	network, message := "ip4:icmp", append([]byte{3, 3, 0, 0, 0, 0, 0, 0}, make([]byte, quoted)...)
	if quote := message[8:]; to.address.Is4() {
		quote[0], quote[3], quote[8], quote[9] = 0x45, quoted, 60, unix.IPPROTO_UDP
		copy(quote[12:], to.address.AsSlice())
		copy(quote[16:], from.address.AsSlice())
		binary.BigEndian.PutUint16(message[2:], checksum(message))
	} else { // the kernel makes the checksum
		network, message[0], message[1] = "ip6:ipv6-icmp", 1, 4
		quote[0], quote[5], quote[6], quote[7] = 0x60, 8, unix.IPPROTO_UDP, 60
		copy(quote[8:], to.address.AsSlice())
		copy(quote[24:], from.address.AsSlice())
	}
	from.Do(func() error {
		conn, err := net.ListenPacket(network, from.address.String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.WriteTo(message, &net.IPAddr{IP: to.address.AsSlice()})
		return err
	})
}

// TestFlowFragments: all fragments of an allowed datagram pass, and none of one that is denied.
func TestFlowFragments(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.MPLSoUDP))
		b.run("--lease")
		for _, c := range []*container{b.a1, b.b1} {
			c.SetMTU("eth0", 1400)
		}
		for _, f := range b.families() {
			t.Run(f.name, func(t *testing.T) {
				mine, theirs := fragmenting(t, f.inside), fragmenting(t, f.far)
				before := b.a.drops()
				big := make([]byte, 5000) // four fragments
				theirs.WriteTo(big, mine.LocalAddr())
				lab.Await(t, "fragments of a datagram that nobody asked for are dropped", func() bool {
					drops := b.a.drops()
					return drops["policy_denied"] == before["policy_denied"]+1 && drops["fragment_unknown"] == before["fragment_unknown"]+3
				})
				for _, way := range [][2]*net.UDPConn{{mine, theirs}, {theirs, mine}} {
					way[0].WriteTo(big, way[1].LocalAddr())
					way[1].SetReadDeadline(time.Now().Add(patience))
					if n, err := way[1].Read(make([]byte, 8000)); err != nil || n != len(big) {
						t.Errorf("from %s %d bytes arrived: %v", way[0].LocalAddr(), n, err)
					}
				}
			})
		}
		b.a.addsUp()
	})
}

// fragmenting is a socket whose container itself makes fragments: IPv4 may not forbid it then.
func fragmenting(t *testing.T, c *container) *net.UDPConn {
	t.Helper()
	s := udpSocket(t, c, 0)
	raw, err := s.SyscallConn()
	if err == nil && c.address.Is4() {
		raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DONT)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secondNetwork moves node A's second port, with its policy, into a network of its own, without a quota and
// with the same route.
func (b *bed) secondNetwork() {
	other := b.a.config.Networks[0]
	other.Name, other.VNI, other.Flows = "network2", 0, 0
	b.a.config.Networks = append(b.a.config.Networks, other)
	b.a.config.Ports[1].Network, b.a.config.Ports[1].Flow.Policy = "network2", "web"
	second := b.a.config.Routes[0]
	second.Network = "network2"
	b.a.config.Routes = append(b.a.config.Routes, second)
}

// TestFlowQuota: a network that has as many flows as it may gets no more, and another is not touched
// by that; room comes back as flows age, exactly.
func TestFlowQuota(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.MPLSoUDP))
		b.a.config.Networks[0].Flows = 100
		b.secondNetwork()
		b.run("--lease")
		flood(t, b.a1, b.b1.address, 500)
		lab.Await(t, "400 flows are over the quota", func() bool { return b.a.drops()["flow_quota"] == 400 })
		flood(t, b.a2, b.b1.address, 150)
		lab.Await(t, "another network is not touched by that", func() bool { return b.a.flowsOf("network2") == 150 })
		if drops := b.a.drops(); drops["flow_quota"] != 400 {
			t.Errorf("another network met the quota: %v", drops)
		}
		idle := func(seconds int) { // short ones only now: none may age while a slow machine makes the others
			b.a.config.Idle.Opening = seconds
			b.a.Must("setting how long flows may be idle", b.a.apply())
		}
		idle(1)
		lab.Await(t, "the flows age", func() bool { return b.a.flowsOf("network1") == 0 })
		idle(config.DefaultIdle.Opening)
		flood(t, b.a1, b.b1.address, 100)
		lab.Await(t, "the network has its 100 flows again", func() bool { return b.a.flowsOf("network1") == 100 })
		if drops := b.a.drops(); drops["flow_quota"] != 400 {
			t.Errorf("the room did not come back: %v", drops)
		}
	})
}

// TestFlowShare: a network that names no quota does not fill the table for another one.
func TestFlowShare(t *testing.T) {
	b := flowBed(t, config.MPLSoUDP)
	b.a.config.Limits.Flows = 1000
	b.secondNetwork()
	b.run("--lease")
	flood(t, b.a1, b.b1.address, 1200)
	lab.Await(t, "what is over its share is refused", func() bool { return b.a.drops()["flow_quota"] == 450 })
	flood(t, b.a2, b.b1.address, 250)
	lab.Await(t, "the other network has its part", func() bool { return b.a.flowsOf("network2") == 250 })
	if drops := b.a.drops(); drops["flow_quota"] != 450 || drops["flow_table_full"] != 0 || b.a.flowsOf("network1") != 750 {
		t.Errorf("network1 has %d flows; drops %v", b.a.flowsOf("network1"), drops)
	}
	if text, _ := b.a.tool("flow", "--limit", "1"); !strings.Contains(text, "network1  750  quota 750, so that there is room for others\n") {
		t.Errorf("vrouter flow says:\n%s", text)
	}
	b.a.addsUp()
}

func (n *node) flowsOf(network string) uint64 {
	for _, use := range ask[control.Flows](n, "flow").Networks {
		if use.Network == network {
			return use.Flows
		}
	}
	return 0
}

// flood opens so many flows with one datagram each, to ports that are no tunnel's.
func flood(t *testing.T, from *container, to netip.Addr, count int) {
	t.Helper()
	for count > 0 {
		s := udpSocket(t, from, 0)
		for port := range min(count, 50_000) {
			if _, err := s.WriteToUDPAddrPort([]byte("x"), netip.AddrPortFrom(to, uint16(10_000+port))); err != nil {
				t.Fatal(err)
			}
		}
		count -= 50_000
	}
}

// TestFlowMany: 100,000 flows begin as quickly as packets come, in a table that has room for them.
func TestFlowMany(t *testing.T) {
	const count = 100_000
	b := flowBed(t, config.MPLSoUDP)
	b.a.config.Limits.Flows = 2 * count
	b.run("--lease")
	begun := time.Now()
	flood(t, b.a1, b.b1.address, count)
	took := time.Since(begun)
	lab.Await(t, "all flows are there", func() bool { return b.a.flowsOf("network1") == count })
	t.Logf("%d flows began in %v", count, took)
	flows := ask[control.Flows](b.a, "flow")
	if flows.Matched != count || len(flows.Flows) != control.ListedFlows {
		t.Errorf("%d flows are counted, %d listed", flows.Matched, len(flows.Flows))
	}
	if text, code := b.a.tool("flow", "--port", "a1", "--limit", "3"); code != 0 || !strings.Contains(text, "... and 99997 more") {
		t.Errorf("vrouter flow: %d\n%s", code, text)
	}
	b.a.addsUp()
}

// TestFlowTableFull: a full table is a named drop, and what is in it goes on.
func TestFlowTableFull(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.MPLSoUDP))
		b.a.config.Limits.Flows = 64
		b.run("--lease")
		mine, theirs := udpSocket(t, b.a1, 0), udpSocket(t, b.b1, 0)
		if !reaches(mine, theirs) {
			t.Fatal("the first datagram was lost")
		}
		flood(t, b.a1, b.b1.address, 500)
		lab.Await(t, "flows find no room", func() bool { return b.a.drops()["flow_table_full"] >= 400 })
		if !reaches(mine, theirs) || !reaches(theirs, mine) {
			t.Error("a flow that has room was lost")
		}
		flows := ask[control.Flows](b.a, "flow")
		if uint64(flows.Matched) != flows.Networks[0].Flows || flows.Matched < 64 {
			t.Errorf("%d flows are in the table, %d are counted", flows.Matched, flows.Networks[0].Flows)
		}
		b.a.addsUp()
	})
}

// TestFlowApply: a change of the policy is for flows that begin later; a port that leaves flow mode
// leaves its flows, and all this while packets of established flows lose nothing.
func TestFlowApply(t *testing.T) {
	inModes(t, func(t *testing.T, mode func(*bed) *bed) {
		b := mode(flowBed(t, config.MPLSoUDP))
		b.run("--lease")
		mine, theirs := udpSocket(t, b.a1, 0), udpSocket(t, b.b1, 0)
		if !reaches(mine, theirs) || !reaches(theirs, mine) {
			t.Fatal("a datagram or its reply was lost")
		}
		b.a.config.Policies = []config.Policy{{Name: "web", Default: config.Deny}}
		b.a.Must("applying a policy that denies all", b.a.apply())
		if !reaches(mine, theirs) || !reaches(theirs, mine) {
			t.Error("an established flow was cut")
		}
		b.a.denied(udpSocket(t, b.a1, 0), theirs)
		b.a.config.Ports[0].Flow.Policy = ""
		b.a.Must("applying packet mode", b.a.apply())
		if n := b.a.flowsOf("network1"); n != 0 {
			t.Errorf("%d flows are left", n)
		}
		b.a.config.Ports[0].Flow.Policy = "web"
		b.a.Must("applying flow mode", b.a.apply())
		b.a.denied(mine, theirs)
		b.a.config.Ports[0].Flow.Policy = "wep"
		if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), `did you mean "web"?`) {
			t.Errorf("a policy that is not there: %v", err)
		}
		b.a.addsUp()
	})
}

// TestFlowRestart: flows outlive the daemon.
func TestFlowRestart(t *testing.T) {
	b := flowBed(t, config.MPLSoUDP)
	b.a.privateBPF()
	b.launch(nil, []string{"--lease"})
	mine, theirs := udpSocket(t, b.a1, 0), udpSocket(t, b.b1, 0)
	if !reaches(mine, theirs) {
		t.Fatal("the first datagram was lost")
	}
	b.a.signal(syscall.SIGKILL)
	if !reaches(theirs, mine) {
		t.Error("without the daemon, the reply was lost")
	}
	b.a.run()
	if n := b.a.flowsOf("network1"); n == 0 || !reaches(theirs, mine) {
		t.Errorf("after a restart there are %d flows, or the reply was lost", n)
	}
	b.a.signal(syscall.SIGTERM)
}
