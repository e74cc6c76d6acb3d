package vrouter_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// tapPort configures a tap, which is to be a container's interface.
func (n *node) tapPort(name string, last byte, label uint32) *container {
	n.config.Ports = append(n.config.Ports, config.Port{
		Name: name, Tap: "t-" + name, Network: "network1",
		Address: netip.AddrFrom4([4]byte{10, 0, 1, last}), MAC: config.MAC{2, 0, 0, 0, 1, last}, Label: label,
	})
	return &container{Namespace: lab.NewNamespace(n.t), address: netip.AddrFrom4([4]byte{10, 0, 1, last})}
}

// give moves a node's interface into a container, and sets it up there.
func (n *node) give(device string, c *container) {
	n.t.Helper()
	n.Move(device, c.Namespace)
	c.Address(device, c.address.String()+"/24")
}

// TestPollTaps: containers have taps, moved into them, that outlive the process; and the host keeps
// its own part of a fabric that is a switch's socket.
func TestPollTaps(t *testing.T) {
	a, b := hostTapNode(t, "a", "10.0.0.1"), hostTapNode(t, "b", "10.0.0.2")
	wire := filepath.Join(a.folder, "wire")
	a.config.Fabric.Device = &config.Device{Vhost: wire}
	b.config.Fabric.Device = &config.Device{VirtioUser: wire}
	a1, b1 := a.tapPort("a1", 3, 16), b.tapPort("b1", 4, 17)
	a.route("10.0.1.4/32", "10.0.0.2", config.MPLSoUDP, 17)
	b.route("10.0.1.3/32", "10.0.0.1", config.MPLSoUDP, 16)
	b.runPoll()
	if gone := b.unlinked(); !slices.Equal(gone, []string{"the fabric"}) {
		t.Errorf("before there is a switch: %v are not there", gone)
	}
	a.runPoll()
	for n, c := range map[*node]*container{a: a1, b: b1} {
		n.give(n.config.Ports[0].Tap, c)
		lab.Await(t, "all tunnels are resolved", n.resolved)
	}
	lab.Await(t, "the containers reach each other", func() bool { return ping(a1, b1.address, 1400) == nil })
	tcp(t, a1, b1, 1<<20)
	hosts := &container{Namespace: a.Namespace, address: netip.MustParseAddr("10.0.0.1")}
	if err := ping(hosts, netip.MustParseAddr("10.0.0.2"), 56); err != nil {
		t.Errorf("from host to host: %v", err)
	}
	if s := ask[control.Status](a, "status"); s.FabricDriver != "vhost-server" || s.FabricDevice != wire || s.Poll.HostSent == 0 {
		t.Errorf("the fabric is %s of %s, and the host has sent %d packets", s.FabricDriver, s.FabricDevice, s.Poll.HostSent)
	}
	if v := a.vif("a1"); v.Driver != "tap" || v.MTU != 1500 {
		t.Errorf("the port is a %s, with an MTU of %d", v.Driver, v.MTU)
	}
	for _, n := range []*node{a, b} {
		pid := n.pollPID()
		n.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
		lab.Await(t, "there is another process", func() bool {
			now := n.pollPID()
			return now != 0 && now != pid
		})
	}
	lab.Await(t, "the containers reach each other again", func() bool { return ping(a1, b1.address, 56) == nil })
	for _, n := range []*node{a, b} {
		n.addsUp()
		n.end()
	}
	if links := a1.Names(); slices.Contains(links, "t-a1") {
		t.Errorf("the tap is left in its container: %v", links)
	}
}

// hostTapNode is a node whose fabric is none of the host's interfaces: vr0 is the host's part.
func hostTapNode(t *testing.T, name, address string) *node {
	t.Helper()
	lab.NeedRoot(t)
	lab.PollProgram(t)
	n := newNode(t, name, address)
	n.config.Fabric.Interface = "vr0"
	lab.HostTap(n.Namespace, "vr0", wireMTU)
	n.Address("vr0", address+"/24")
	return n
}

// taps gives node a's containers taps in place of virtual pairs: they are there before the vRouter.
func (b *bed) taps() *bed {
	for i, c := range []*container{b.a1, b.a2} {
		p := &b.a.config.Ports[i]
		b.a.Delete(p.Interface)
		lab.HostTap(c.Namespace, "eth0", containerMTU)
		c.Address("eth0", c.address.String()+"/24")
		p.Interface, p.Tap, p.Netns = "", "eth0", c.Path()
	}
	return b
}

// TestPollTapOffloads: what containers behind taps leave to a device, checksums and segmentation of TCP and UDP, is
// carried as between virtual pairs, both ways, and their taps stay when the process dies.
func TestPollTapOffloads(t *testing.T) {
	for _, encapsulation := range []config.Encapsulation{config.MPLSoUDP, config.NoEncapsulation} {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation).taps().withIPv6().poll()
			b.asNIC()
			b.run("--lease")
			moves(t, b, innerMTU(encapsulation))
			for _, way := range [][2]*container{{b.a1, b.b1}, {b.b1, b.a1}, {b.a1.six(), b.b1.six()}, {b.b1.six(), b.a1.six()}} {
				before, came := b.a.vif("a1"), b.a1.Link("eth0").Attrs().Statistics.RxPackets
				tcp(t, way[0], way[1], bulk)
				after := b.a.vif("a1")
				came = b.a1.Link("eth0").Attrs().Statistics.RxPackets - came
				if segments := after.Tx.Segments - before.Tx.Segments; way[1].Namespace == b.a1.Namespace && segments < 4*came {
					t.Errorf("%s got %d packets for %d segments", way[1].address, came, segments)
				}
				if packets, segments := after.Rx.Packets-before.Rx.Packets, after.Rx.Segments-before.Rx.Segments; way[0].Namespace == b.a1.Namespace && segments < 4*packets {
					t.Errorf("of %s came %d packets for %d segments", way[0].address, packets, segments)
				}
			}
			pid := b.a.pollPID()
			b.a.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
			lab.Await(t, "there is another process", func() bool {
				now := b.a.pollPID()
				return now != 0 && now != pid
			})
			lab.Await(t, "the containers reach each other again", func() bool { return ping(b.a1, b.b1.address, 56) == nil })
			b.a.addsUp()
			b.a.end()
			if links := b.a1.Names(); !slices.Contains(links, "eth0") {
				t.Errorf("the tap that somebody else made is gone: %v", links)
			}
		})
	}
}

// TestPollXDP: ports and fabric by AF_XDP; a process that was killed comes back, and at the end no
// program is left.
func TestPollXDP(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).poll()
	a := b.a
	for n, name := range map[*lab.Namespace]string{b.a1.Namespace: "eth0", a.Namespace: "wire0", b.b.Namespace: "wire0"} {
		offload(n, name, noSegmentation)
	}
	a.config.Ports[0].Driver = config.DriverXDP
	a.RemoveAddress("wire0", "10.0.0.1/24")
	lab.HostTap(a.Namespace, "vr0", wireMTU)
	a.Address("vr0", "10.0.0.1/24")
	a.config.Fabric = config.Fabric{Interface: "vr0", Address: a.config.Fabric.Address, Device: &config.Device{Interface: "wire0", Driver: config.DriverXDP}}
	b.run("--lease")
	forwardsTo := func() {
		t.Helper()
		for to, from := range map[netip.Addr]*container{b.b1.address: b.a1, b.a1.address: b.b1, b.a2.address: b.b1} {
			lab.Await(t, "containers reach each other", func() bool { return ping(from, to, 1400) == nil })
		}
		tcp(t, b.a1, b.b1, 1<<20)
		tcp(t, b.b1, b.a1, 1<<20)
	}
	forwardsTo()
	if v := a.vif("a1"); v.Driver != "af_xdp" {
		t.Errorf("the port is a %s", v.Driver)
	}
	pid := a.pollPID()
	a.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	lab.Await(t, "there is another process", func() bool {
		now := a.pollPID()
		return now != 0 && now != pid
	})
	forwardsTo()
	onlyFull(t, a.addsUp())
	a.end()
	for _, name := range []string{"wire0", "v-a1"} {
		if a.Link(name).Attrs().Xdp.Attached {
			t.Errorf("an XDP program is left at %s", name)
		}
	}
}

// TestPollDeviceRefusals: devices that cannot be had are refused before anything is done.
func TestPollDeviceRefusals(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.config.Ports[0].VhostMode = ""
	for key, change := range map[string]func(*config.Port){
		"virtio_user": func(p *config.Port) { p.VirtioUser = "/run/s" },
		"tap":         func(p *config.Port) { p.Tap = "t0" },
		"pci":         func(p *config.Port) { p.PCI = "0000:00:01.0" },
		"driver":      func(p *config.Port) { p.Interface, p.Driver = "wire0x", config.DriverPacket },
	} {
		n.config.Ports[0].Vhost = ""
		good := n.config.Ports[0]
		change(&n.config.Ports[0])
		if text, code := n.runs("--socket", n.socket()); code != 2 || !strings.Contains(text, `"`+key+`" is for poll mode`) {
			t.Errorf("kernel mode, %s: exit code %d, %s", key, code, text)
		}
		n.config.Ports[0] = good
	}
	n.config.Ports[0].PCI = "fffe:00:00.0"
	if text, code := n.second(); code != 2 || !strings.Contains(text, "there is no PCI device fffe:00:00.0; `lspci -D` lists them") {
		t.Errorf("no PCI device: exit code %d, %s", code, text)
	}
	n.config.Ports[0].PCI, n.config.Ports[0].Tap = "", "lo"
	if text, code := n.second(); code != 1 || !strings.Contains(text, "the interface lo is no tap") {
		t.Errorf("no tap: exit code %d, %s", code, text)
	}
	n.config.Ports[0].Tap = "t0"
	for path, says := range map[string]string{"/run/netns/none-" + n.config.Name: "opening it: no such file", "/dev/null": "is it the file of a network namespace?"} {
		n.config.Ports[0].Netns = path
		if text, code := n.second(); code != 1 || !strings.Contains(text, "in the network namespace "+path) || !strings.Contains(text, says) {
			t.Errorf("a tap in %s: exit code %d, %s", path, code, text)
		}
	}
	n.config.Ports[0].Netns = ""
	n.config.Fabric.Device = &config.Device{Vhost: filepath.Join(n.folder, "f")}
	if text, code := n.second(); code != 1 || !strings.Contains(text, "the interface wire0 is no tap") {
		t.Errorf("a fabric whose host has no tap: exit code %d, %s", code, text)
	}
	if _, err := os.Lstat(filepath.Join(n.folder, "f")); err == nil {
		t.Error("the fabric's socket is left")
	}
}

// TestPollOwner: who has an interface keeps it, whatever mode the two vRouters are in.
func TestPollOwner(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).poll()
	poll := b.a.mode
	for _, c := range []struct {
		name          string
		first, second []string
	}{{"poll, then kernel", poll, nil}, {"kernel, then poll", nil, poll}, {"poll, then poll", poll, poll}} {
		t.Run(c.name, func(t *testing.T) {
			b.a.mode = c.first
			b.a.run("--lease")
			other := b.a.double(ownName("other"))
			said := []string{"is held by the vRouter", "test-a", "which runs", "end it first"}
			other.refused(2, said, append(slices.Clone(c.second), "--lease")...)
			only := b.a.double(ownName("only")) // the fabric alone is another's
			only.config.Ports, only.config.Routes = nil, nil
			only.refused(2, append(said, "wire0"), append(slices.Clone(c.second), "--lease")...)
			b.a.signal(syscall.SIGKILL)
			other.mode = c.second
			other.run("--lease")
			other.end()
		})
	}
}
