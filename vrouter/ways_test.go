package vrouter_test

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// service is the address that several containers serve, by IPv4 and IPv6.
var service = []netip.Addr{netip.MustParseAddr("10.0.1.9"), netip.MustParseAddr("fd00:1::9")}

const servicePort = 7000

// serve answers every datagram to the service's addresses with a name.
func serve(t *testing.T, c *container, name string) {
	t.Helper()
	for i, bits := range []string{"/32", "/128"} {
		c.Address("eth0", service[i].String()+bits)
		server := listenAt(t, c, service[i])
		go func() { // ends when the test closes the socket
			buffer := make([]byte, 64)
			for {
				_, from, err := server.ReadFromUDPAddrPort(buffer)
				if err != nil {
					return
				}
				server.WriteToUDPAddrPort([]byte(name), from)
			}
		}()
	}
}

// listenAt waits until the address can be used, which an IPv6 one cannot at once (RFC 4862, section 5.4).
func listenAt(t *testing.T, c *container, address netip.Addr) (server *net.UDPConn) {
	t.Helper()
	lab.Await(t, address.String()+" can be used", func() bool {
		var err error
		c.Do(func() error {
			server, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, servicePort)))
			return nil
		})
		return err == nil
	})
	t.Cleanup(func() { server.Close() })
	return server
}

// clients are flows to the service, each from a port of its own.
func clients(t *testing.T, c *container, count int) (flows []*net.UDPConn) {
	t.Helper()
	c.Do(func() error {
		for i := range count {
			to := netip.AddrPortFrom(service[i%2], servicePort)
			conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
			if err != nil {
				return err
			}
			t.Cleanup(func() { conn.Close() })
			flows = append(flows, conn)
		}
		return nil
	})
	return flows
}

// who tells which server each flow has. All are asked before the first answer is read.
func who(t *testing.T, flows []*net.UDPConn) (names []string) {
	t.Helper()
	for i, conn := range flows {
		if _, err := conn.Write([]byte("who?")); err != nil {
			t.Fatalf("flow %d: %v", i, err)
		}
	}
	buffer := make([]byte, 64)
	for i, conn := range flows {
		conn.SetReadDeadline(time.Now().Add(patience))
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("flow %d has no answer: %v", i, err)
		}
		names = append(names, string(buffer[:n]))
	}
	return names
}

// stay checks that flows have the servers that they had, but for those whose server has gone.
func stay(t *testing.T, what string, before, after []string, gone string) {
	t.Helper()
	for i := range before {
		if after[i] == gone || before[i] != gone && after[i] != before[i] {
			t.Errorf("%s: flow %d has gone from %s to %s", what, i, before[i], after[i])
		}
	}
}

// newServiceBed is a bed in which a2, b1 and b2 serve an address that a1 reaches by all of them.
func newServiceBed(t *testing.T) *bed {
	b := newBed(t, config.MPLSoUDP)
	b2 := b.b.port("b2", 6, 19)
	tunnel := b.a.config.Routes[0].Via
	second := tunnel
	second.Label = 19
	prefix := netip.PrefixFrom(service[0], 32)
	b.a.config.Routes = append(b.a.config.Routes, config.Route{
		Network: "network1", Prefix: prefix, Via: config.Via{ECMP: config.MakeMembers(config.Via{Port: "a2"}, tunnel, second)},
	})
	b.b.config.Routes = append(b.b.config.Routes, config.Route{
		Network: "network1", Prefix: prefix, Via: config.Via{ECMP: config.MakeMembers(config.Via{Port: "b1"}, config.Via{Port: "b2"})},
	})
	b.withIPv6()
	lab.EnableIPv6(b2.Namespace, "eth0")
	b2.Address("eth0", b2.six().address.String()+"/64")
	for name, c := range map[string]*container{"a2": b.a2, "b1": b.b1, "b2": b2} {
		serve(t, c, name)
	}
	return b
}

// ways gives the service other ways on node a.
func (b *bed) ways(ways ...string) {
	b.a.t.Helper()
	for _, prefix := range []string{service[0].String() + "/32", service[1].String() + "/128"} {
		args := []string{"rt", "add", prefix, "--network", "network1"}
		for _, way := range ways {
			args = append(args, "--way", way)
		}
		if out, code := b.a.tool(args...); code != 0 {
			b.a.t.Fatalf("exit %d: %s", code, out)
		}
	}
}

// TestECMP: of 200 flows to an address that three containers on two nodes serve, each stays with one,
// and moves only when its own goes: with its node, out of the route, or with its interface. What is not
// resolved gets none, and what comes back has those that it had.
func TestECMP(t *testing.T) {
	b := newServiceBed(t)
	b.run("--lease")
	flows := clients(t, b.a1, 200)
	first, counts := who(t, flows), make(map[string]int)
	for _, name := range first {
		counts[name]++
	}
	for _, name := range []string{"a2", "b1", "b2"} { // a standard deviation is 7
		if counts[name] < 30 || counts[name] > 105 {
			t.Errorf("%s has %d flows", name, counts[name])
		}
	}
	for range 3 {
		stay(t, "nothing changed", first, who(t, flows), "")
	}
	lab.Down(b.b.Namespace, "wire0")
	lab.Await(t, "the other node is not resolved", func() bool { return !b.a.resolved() })
	for i, name := range who(t, flows) {
		if name != "a2" {
			t.Errorf("the other node is gone, and flow %d has %s", i, name)
		}
	}
	b.b.Up("wire0")
	lab.Await(t, "the other node is resolved again", b.a.resolved)
	lab.Await(t, "and this one there", b.b.resolved)
	stay(t, "the other node is back", first, who(t, flows), "")
	const b1, nobody = "tunnel=10.0.0.2,encapsulation=mplsoudp,label=17", "tunnel=10.0.0.77,encapsulation=mplsoudp,label=20"
	b.ways("port=a2", b1)
	second := who(t, flows)
	stay(t, "b2 is taken out", first, second, "b2")
	b.ways(b1, "port=a2", nobody)
	stay(t, "one is not resolved", second, who(t, flows), "")
	s := ask[control.Status](b.a, "status")
	if s.Avoided != 1 || len(s.Unresolved) != 1 {
		t.Errorf("status: %+v", s)
	}
	b.a.Delete("v-a2")
	lab.Await(t, "the port is missing", func() bool { return len(ask[control.Status](b.a, "status").Missing) == 1 })
	stay(t, "a2 is gone", second, who(t, flows), "a2")
	onlyOfTheLink(t, b.a.addsUp().Drops)
	onlyOfTheLink(t, b.b.addsUp().Drops)
}

// TestAdoptWays: each flow stays with its server while the process is killed, and when the next one takes
// the tables over, which has nothing to change in them.
func TestAdoptWays(t *testing.T) {
	b := newServiceBed(t)
	b.a.privateBPF()
	b.a.config.Name = fmt.Sprintf("ways-%d", unix.Getpid())
	b.run2("", "--lease")
	lab.Await(t, "the other node's tunnels are resolved", b.b.resolved)
	flows := clients(t, b.a1, 60)
	first, nexthops := who(t, flows), ask[[]control.Nexthop](b.a, "nh")
	b.a.signal(syscall.SIGKILL)
	stay(t, "there is no process", first, who(t, flows), "")
	b.a.run()
	stay(t, "the tables are taken over", first, who(t, flows), "")
	if diff := cmp.Diff(nexthops, ask[[]control.Nexthop](b.a, "nh")); diff != "" {
		t.Errorf("the nexthops are others: %s", diff)
	}
	b.a.signal(syscall.SIGTERM)
	b.a.deletes()
}
