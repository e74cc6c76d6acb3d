package vrouter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// A nic is a PCI device that a machine has for tests.
type nic struct{ address string }

func (n nic) path(name string) string { return filepath.Join("/sys/bus/pci/devices", n.address, name) }

// polled tells whether DPDK has it, and not the kernel.
func (n nic) polled(t *testing.T) bool {
	t.Helper()
	driver, err := os.Readlink(n.path("driver"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(driver) == "vfio-pci"
}

// device awaits the kernel's interface, which a namespace that ends gives back in its own time.
func (n nic) device(t *testing.T) (name string) {
	t.Helper()
	lab.Await(t, "the kernel has an interface of "+n.address, func() bool {
		entries, err := os.ReadDir(n.path("net"))
		if err == nil && len(entries) > 0 {
			name = entries[0].Name()
		}
		return name != ""
	})
	return name
}

// A nicWire is two NICs of a model.
type nicWire struct {
	model string
	ends  [2]nic
}

// nicWires are those that a machine has for tests and nothing else, as scripts/pci.sh makes one: words such
// as e1000e,0000:00:02.0,0000:00:03.0 in NIC_WIRES.
func nicWires(t *testing.T) (wires []nicWire) {
	t.Helper()
	text := os.Getenv("NIC_WIRES")
	if text == "" {
		t.Skip("skip: needs NICs that are for tests only, such as those of the guest that `make pci` boots")
	}
	for _, word := range strings.Fields(text) {
		parts := strings.Split(word, ",")
		if len(parts) != 3 {
			t.Fatalf("NIC_WIRES has %q, and not a model and two addresses", word)
		}
		wires = append(wires, nicWire{parts[0], [2]nic{{parts[1]}, {parts[2]}}})
	}
	return wires
}

// onNIC puts a node on a wire's end in place of its own: in poll mode if it is DPDK's.
func (n *node) onNIC(end nic) (mode string) {
	n.t.Helper()
	name, address := "vr0", n.config.Fabric.Address.String()+"/24"
	if end.polled(n.t) {
		// In ordinary pages, frames lie across two, which are neighbours for the IOMMU only: those QEMU's NICs lose.
		n.mode = []string{"--mode", "poll", "--poll-pause", "50us", "--poll-memory", "huge", "--poll-program", lab.PollProgram(n.t)}
		n.config.Fabric.Device = &config.Device{PCI: end.address}
		lab.HostTap(n.Namespace, name, wireMTU)
		mode = control.ModePoll
	} else {
		name = end.device(n.t)
		lab.Host(n.t).Move(name, n.Namespace)
		offload(n.Namespace, name, map[string]bool{"tx-tcp-segmentation": false})
		mode = control.ModeKernel
	}
	n.config.Fabric.Interface = name
	n.Address(name, address)
	return mode
}

// TestPCI: over wires of each model of NIC, nodes in kernel mode and in poll mode understand each other and
// their own kind; what arrives is what was sent, whatever the NICs leave to the vRouter; and no packet is
// without an account.
func TestPCI(t *testing.T) {
	for _, wire := range nicWires(t) {
		modes := map[bool]string{true: control.ModePoll, false: control.ModeKernel}
		t.Run(fmt.Sprintf("%s, %s and %s", wire.model, modes[wire.ends[0].polled(t)], modes[wire.ends[1].polled(t)]), func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP)
			b.a.Delete("wire0") // and b's end of it
			modes := [2]string{b.a.onNIC(wire.ends[0]), b.b.onNIC(wire.ends[1])}
			b.run("--lease")
			for _, encapsulation := range encapsulations {
				b.encapsulate(encapsulation)
				forwards(t, b, innerMTU(encapsulation), false)
				b.arrives(t)
				if t.Failed() {
					t.Fatalf("with %s", encapsulation)
				}
			}
			for i, n := range []*node{b.a, b.b} {
				if modes[i] == control.ModePoll {
					n.diesOnce(t, b)
				}
			}
			for _, n := range []*node{b.a, b.b} {
				if s := n.addsUp(); s.Dropped.Packets != 0 {
					t.Errorf("node %s dropped %v", n.config.Name, s.Drops)
				}
				n.end()
			}
		})
	}
}

// TestPCIRefusals: NICs that the poll mode cannot have are refused before anything is changed.
func TestPCIRefusals(t *testing.T) {
	refused := map[string]string{os.Getenv("NIC_ALONE"): "is behind no IOMMU"}
	for _, wire := range nicWires(t) {
		for _, end := range wire.ends {
			if !end.polled(t) {
				refused[end.address] = "is the kernel's, with its driver " + wire.model
			}
		}
	}
	n := vhostNode(t, config.VhostServer)
	n.config.Ports = n.config.Ports[:1]
	n.config.Ports[0].Vhost, n.config.Ports[0].VhostMode = "", ""
	for address, says := range refused {
		n.config.Ports[0].PCI = address
		if text, code := n.second(); code != 2 || !strings.Contains(text, says) {
			t.Errorf("%s: exit code %d, %s", address, code, text)
		}
	}
}

// encapsulate changes what both nodes' routes go by.
func (b *bed) encapsulate(e config.Encapsulation) {
	for _, n := range []*node{b.a, b.b} {
		old := n.config.Routes
		n.config.Routes = nil
		for _, r := range old {
			label := r.Via.Label
			if label == 0 {
				label = labels[r.Prefix.Addr().As4()[3]]
			}
			n.route(r.Prefix.String(), r.Via.Tunnel.String(), e, label)
		}
		n.Must("changing the encapsulation", n.apply())
	}
}

// labels are those of newBed's ports, by the last byte of their address.
var labels = map[byte]uint32{3: 16, 4: 17, 5: 18}

// arrives: every packet that went into the fabric at one end came out at the other. Few go at a time, as an
// emulated NIC drops what it has no room for.
func (b *bed) arrives(t *testing.T) {
	t.Helper()
	const times, burst = 10, 50
	traffic := func(n *node) control.Traffic { return ask[control.Stats](n, "stats").Vifs[0].Traffic }
	for _, way := range []struct {
		a, z     *node
		from, to *container
	}{{b.a, b.b, b.a1, b.b1}, {b.b, b.a, b.b1, b.a1}} {
		a, z := traffic(way.a), traffic(way.z)
		receiver, sender := udpSocket(t, way.to, 0), udpSocket(t, way.from, 0)
		for sent := uint64(burst); sent <= times*burst; sent += burst {
			for range burst {
				if _, err := sender.WriteTo(make([]byte, 18), receiver.LocalAddr()); err != nil {
					t.Fatal(err)
				}
			}
			lab.Await(t, "as many packets arrive as were sent", func() bool {
				nowA, nowZ := traffic(way.a), traffic(way.z)
				return nowA.Forwarded.Segments-a.Forwarded.Segments == sent && nowZ.Tx.Segments-nowZ.Answered.Segments == sent+z.Tx.Segments-z.Answered.Segments
			})
		}
	}
}

// diesOnce: a NIC comes back with the process.
func (n *node) diesOnce(t *testing.T, b *bed) {
	t.Helper()
	pid := n.pollPID()
	n.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	lab.Await(t, "there is another process", func() bool {
		now := n.pollPID()
		return now != 0 && now != pid
	})
	lab.Await(t, "containers reach each other again", func() bool { return ping(b.a1, b.b1.address, 56) == nil })
}
