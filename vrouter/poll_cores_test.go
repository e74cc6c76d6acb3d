package vrouter_test

import (
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/packet"
)

// twoCPUs are what --poll-cpu takes to forward on two.
func twoCPUs(t *testing.T) []string {
	t.Helper()
	cpus := usableCPUs(t)
	if len(cpus) < 2 {
		t.Skip("skip: needs two CPUs")
	}
	return []string{"--poll-cpu", strings.Join(cpus[:2], ",")}
}

// TestPollCores: two CPUs forward by the same tables, each packet is accounted for once, and the
// fabric's flows are shared out.
func TestPollCores(t *testing.T) {
	b := pollBed(t, config.MPLSoUDP, twoCPUs(t)...)
	for n, name := range map[*lab.Namespace]string{b.a1.Namespace: "eth0", b.a2.Namespace: "eth0", b.a.Namespace: "wire0", b.b.Namespace: "wire0"} {
		offload(n, name, noSegmentation) // packets are alike, so some rounds tell of all
	}
	forwards(t, b, innerMTU(config.MPLSoUDP), false)
	for range 8 { // connections of which each has its own way
		tcp(t, b.b1, b.a1, 1<<16)
	}
	s := b.a.addsUp()
	if s.Dropped.Packets != 0 {
		t.Errorf("node a's account: %+v", s)
	}
	p, received := ask[control.Status](b.a, "status").Poll, uint64(0)
	for _, c := range p.Cores {
		if received += c.Packets; c.Packets == 0 || c.Busy == 0 || c.Idle == 0 {
			t.Errorf("a CPU had nothing to do, or no time for it: %+v", c)
		}
	}
	// The node's neighbours may ask for each other between the questions.
	if now := b.a.addsUp().Received.Packets; received < s.Received.Packets || received > now {
		t.Errorf("the CPUs received %d packets, %d to %d are in the account", received, s.Received.Packets, now)
	}
	// A machine that takes a CPU away in the middle of a round disturbs few of many.
	lab.Await(t, "the stages of a packet take about as long together as a packet", func() bool {
		tcp(t, b.b1, b.a1, 1<<18)
		p, sum := ask[control.Status](b.a, "status").Poll, 0.0
		for _, name := range []string{"receive", "decide", "move", "send"} {
			if sum += p.StageCycles[name]; p.StageCycles[name] <= 0 {
				t.Errorf("a packet's stage has taken no time: %v", p.StageCycles)
			}
		}
		return p.CyclesPerPacket/4 < sum && sum < p.CyclesPerPacket*4
	})
}

// TestPollCoresVhost: a CPU gives packets to a port that another one receives from.
func TestPollCoresVhost(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll(twoCPUs(t)...)
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	receiver := startVM(t, vm2, nil)
	receiver.awaitReady()
	sender := startVM(t, vm1, way(vm1, vm2))
	n.awaitLinked()
	n.awaitMore("vm2")
	sender.end()
	n.awaitQuiet()
	s := n.addsUp()
	onlyFull(t, s)
	if received, _ := receiver.end(); received != s.Forwarded.Packets {
		t.Errorf("%d packets were forwarded, and %d arrived", s.Forwarded.Packets, received)
	}
}

// TestPollCPUs: CPUs that cannot forward are refused.
func TestPollCPUs(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	one := usableCPUs(t)[0]
	for cpus, says := range map[string]string{
		"1023":          "cannot forward on CPU 1023: this process may use",
		"-1":            "cannot forward on CPU -1",
		one + "," + one: "is named twice",
	} {
		if text, code := n.second("--poll-cpu", cpus); code != 2 || !strings.Contains(text, says) {
			t.Errorf("%s: exit code %d, %s", cpus, code, text)
		}
	}
}

// TestPollHandOverVMs: what one CPU reads at a VM's only queue two forward. Streams of TCP keep their order and checksums, with
// all that a VM may leave to its device, between VMs and through a tunnel; and a VM that vanishes with packets on
// their way to another CPU leaves the account exact.
func TestPollHandOverVMs(t *testing.T) {
	b := newBed(t, config.VXLAN).poll()
	b.a.mode = append(append(b.a.mode, twoCPUs(t)...), "--poll-hand-over")
	b.a.vhostPort("vm1", 7, 20, config.VhostServer)
	b.a.vhostPort("vm2", 9, 22, config.VhostServer)
	b.a.vhostPort("vm3", 11, 24, config.VhostServer)
	b.b.route("10.0.1.7/32", "10.0.0.1", config.VXLAN, 20)
	b.asNIC()
	b.run("--lease")
	ports := b.a.config.Ports[len(b.a.config.Ports)-3:]
	vm1, vm2 := b.a.startGuest(ports[0], virtioAll), b.a.startGuest(ports[1], virtioAll)
	vm3 := newGuest(t, ports[2].Vhost, virtioVersion|virtioAll)
	b.a.awaitLinked()
	for range 6 { // each has its own ports, and so its CPU
		tcp(t, vm1, vm2, 1<<18)
		tcp(t, vm2, vm1, 1<<18)
		tcp(t, vm1, b.b1, 1<<18)
		tcp(t, b.b1, vm1, 1<<18)
	}
	handed := b.a.handed()
	if handed == 0 {
		t.Error("no packet has changed its CPU")
	}
	lab.Await(t, "packets of a VM without a stack change their CPU", func() bool {
		for n := range uint16(1000) {
			vm3.transmit(handFrame(t, ports[2], ports[1], n))
		}
		return b.a.handed() > handed+1000
	})
	vm3.socket.Close() // with packets in its ring, and on their way
	b.a.awaitQuiet()
	for reason, packets := range b.a.addsUp().Drops {
		if !ofTheLink[reason] && reason != "tx_full" && reason != "multicast" {
			t.Errorf("%d packets were dropped as %s", packets, reason)
		}
	}
	if s := ask[control.Status](b.a, "status"); s.Poll.Restarts != 0 || !s.Poll.HandOver {
		t.Errorf("%+v", s.Poll)
	}
}

// handFrame is one of many flows, with a virtio-net header that says nothing of it.
func handFrame(t *testing.T, from, to config.Port, flow uint16) []byte {
	t.Helper()
	frame, err := packet.Build(packet.Spec{SourceMAC: from.MAC, DestinationMAC: config.GatewayMAC, Source: from.Address, Destination: to.Address,
		Protocol: "udp", SourcePort: 10_000 + flow, DestinationPort: 9, TTL: 64, Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	return append(make([]byte, virtioHeader), frame...)
}

// handed is how many packets changed their CPU.
func (n *node) handed() (all uint64) {
	for _, c := range ask[control.Status](n, "status").Poll.Cores {
		all += c.Handed
	}
	return all
}
