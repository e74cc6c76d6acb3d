package vrouter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// asNIC makes the wire one whose packets leave at its MTU and are aggregated where they arrive.
func (b *bed) asNIC() {
	for _, n := range []*node{b.a, b.b} {
		offload(n.Namespace, "wire0", map[string]bool{ // the other end's GRO wants to see all of TSO off
			"tx-tcp-segmentation": false, "tx-tcp-ecn-segmentation": false, "tx-tcp-mangleid-segmentation": false,
			"tx-tcp6-segmentation": false, "tx-generic-segmentation": false, "tx-udp-segmentation": false, "rx-gro": true,
		})
	}
}

func (b *bed) receive(way config.Receive) {
	b.a.config.Fabric.Receive, b.b.config.Fabric.Receive = way, way
}

// TestReceiveByXDP: with the tunnel's headers taken off before GRO, all that is forwarded arrives as
// it was sent, TCP in aggregates, and every packet is in the account once. Then tc takes over, and
// XDP again, while the vRouter runs.
func TestReceiveByXDP(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) { receiveByXDP(t, encapsulation, "--lease") })
	}
	t.Run("clsact", func(t *testing.T) { receiveByXDP(t, config.MPLSoUDP, "--lease", "--clsact") })
}

func receiveByXDP(t *testing.T, encapsulation config.Encapsulation, flags ...string) {
	b, mtu := newBed(t, encapsulation), innerMTU(encapsulation)
	b.a1.SetMTU("eth0", mtu) // so that fragments fit
	b.asNIC()
	b.receive(config.ReceiveXDP)
	b.run(flags...)
	if s := ask[control.Status](b.b, "status"); s.Receive != "xdp" {
		t.Fatalf("received by %s: %s", s.Receive, s.ReceiveWhy)
	}
	forwards(t, b, mtu, false)
	fragments(t, b.a1, b.b1)
	s := b.b.addsUp()
	if s.ReceivedFabric.Segments < 4*s.ReceivedFabric.Packets {
		t.Errorf("%d packets for %d segments: GRO joined few", s.ReceivedFabric.Packets, s.ReceivedFabric.Segments)
	}
	for _, c := range []*container{b.a1, b.b1} { // so that checksums are made, and looked at
		offload(c.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
	}
	for _, way := range []config.Receive{config.ReceiveTC, config.ReceiveXDP} {
		b.b.config.Fabric.Receive = way
		b.b.Must("applying", b.b.apply())
		if got := ask[control.Status](b.b, "status").Receive; got != string(way) {
			t.Errorf("received by %s, not %s", got, way)
		}
		forwards(t, b, mtu, false)
		fragments(t, b.a1, b.b1)
		b.b.addsUp()
	}
	if s := b.a.addsUp(); s.Dropped.Packets != 0 {
		t.Errorf("node a dropped %v", s.Drops)
	}
}

// fragmented is how many datagrams fragments sends.
const fragmented = 8

// fragments sends datagrams that IP cuts inside the tunnel, and checks what is put together.
func fragments(t *testing.T, from, to *container) {
	t.Helper()
	receiver, sender := udpSocket(t, to, 0), udpSocket(t, from, 0)
	for size := 4000; size < 4000+fragmented; size++ {
		payload, buffer := make([]byte, size), make([]byte, 65536)
		rand.NewChaCha8([32]byte{3}).Read(payload)
		if _, err := sender.WriteTo(payload, receiver.LocalAddr()); err != nil {
			t.Fatalf("sending %d bytes in fragments: %v", size, err)
		}
		receiver.SetReadDeadline(time.Now().Add(patience))
		n, err := receiver.Read(buffer)
		if err != nil || !bytes.Equal(buffer[:n], payload) {
			t.Fatalf("%d bytes in fragments arrived as %d: %v", size, n, err)
		}
	}
}

// TestReceiveBySocket: where only VXLAN comes in over a veth, GRO joins it by the vRouter's socket,
// and that ends with the vRouter.
func TestReceiveBySocket(t *testing.T) {
	b, mtu := newBed(t, config.VXLAN), innerMTU(config.VXLAN)
	for _, n := range []*node{b.a, b.b} {
		for i := range n.config.Ports {
			n.config.Ports[i].Label = 0
		}
	}
	b.a1.SetMTU("eth0", mtu)
	b.asNIC()
	for range 2 {
		b.run("--lease")
		if s := ask[control.Status](b.b, "status"); s.Receive != "socket" {
			t.Fatalf("received by %s: %s", s.Receive, s.ReceiveWhy)
		}
		forwards(t, b, mtu, false)
		fragments(t, b.a1, b.b1)
		s := b.b.addsUp()
		if s.ReceivedFabric.Segments < 4*s.ReceivedFabric.Packets {
			t.Errorf("%d packets for %d segments: GRO joined few", s.ReceivedFabric.Packets, s.ReceivedFabric.Segments)
		}
		b.a.end()
		b.b.signal(syscall.SIGKILL)
	}
	lab.Await(t, "the port is free", func() bool {
		free := false
		b.b.Do(func() error {
			conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: 4789})
			if free = err == nil; free {
				conn.Close()
			}
			return nil
		})
		return free
	})
}

// TestXDPDropsAreNamed: what XDP leaves alone is lost at tc, under its name and once.
func TestXDPDropsAreNamed(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asNIC()
	b.receive(config.ReceiveXDP)
	b.a.config.Routes[0].Via.Label = 99 // which no port of b has
	b.run("--lease")
	s := udpSocket(t, b.a1, 0)
	for range 7 {
		s.WriteTo([]byte("nobody"), udpSocket(t, b.b1, 0).LocalAddr())
	}
	lab.Await(t, "7 unknown labels are counted", func() bool {
		return ask[control.Stats](b.b, "stats").Drops["unknown_label"] == 7
	})
	b.b.addsUp()
}

// TestReceiveAuto: XDP where GRO would join packets, tc where there is none, and where XDP would
// have the other end of a veth cut its aggregates.
func TestReceiveAuto(t *testing.T) {
	for want, features := range map[string]map[string]bool{
		"xdp": {"rx-gro": true, "tx-tcp-segmentation": false},
		"tc":  {"rx-gro": false, "tx-tcp-segmentation": false},
		"tc ": {"rx-gro": true, "tx-tcp-segmentation": true},
	} {
		t.Run(fmt.Sprint(features), func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP)
			offload(b.a.Namespace, "wire0", features)
			b.a.run("--lease")
			if s := ask[control.Status](b.a, "status"); s.Receive != want[:len(s.Receive)] || s.ReceiveWhy == "" {
				t.Errorf("received by %s: %s", s.Receive, s.ReceiveWhy)
			}
			b.a.end()
		})
	}
}

// TestAdoptXDP: the XDP program stays with the tables when the process is killed, the next process
// takes it over or off, and delete removes it.
func TestAdoptXDP(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asNIC()
	b.b.privateBPF()
	b.b.config.Name = fmt.Sprintf("adopt-xdp-%d", unix.Getpid())
	for _, way := range []config.Receive{config.ReceiveXDP, config.ReceiveXDP, config.ReceiveTC, config.ReceiveXDP} {
		b.b.config.Fabric.Receive = way
		b.run2("--lease", "")
		if s := ask[control.Status](b.b, "status"); s.Receive != string(way) {
			t.Errorf("received by %s, not %s: %s", s.Receive, way, s.ReceiveWhy)
		}
		b.b.signal(syscall.SIGKILL)
		if err := ping(b.a1, b.b1.address, 56); err != nil {
			t.Errorf("with no process: %v", err)
		}
		b.a.end()
	}
	b.b.deletes()
	b.b.awaitNoXDP("wire0")
}
