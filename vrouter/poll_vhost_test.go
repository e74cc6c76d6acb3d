package vrouter_test

import (
	"net"
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
	"windtunnel/vrouter/kernel"
)

// enough packets have gone by for a test to look at.
const enough = 20_000

// vhostNode is a node in poll mode with two VMs' ports, 10.0.1.3 and 10.0.1.5. They are configured, and
// nobody is there.
func vhostNode(t *testing.T, mode config.VhostMode) *node {
	t.Helper()
	lab.NeedRoot(t)
	if !kernel.HaveTCX() {
		t.Skip("skip: needs tcx (Linux 6.6)")
	}
	n := newNode(t, "a", "10.0.0.1")
	lab.Veth(n.Namespace, "wire0", lab.NewNamespace(t), "wire0", wireMTU, "")
	n.Address("wire0", "10.0.0.1/24")
	n.vhostPort("vm1", 3, 16, mode)
	n.vhostPort("vm2", 5, 18, mode)
	return n
}

func (n *node) vhostPort(name string, last byte, label uint32, mode config.VhostMode) {
	n.config.Ports = append(n.config.Ports, config.Port{
		Name: name, Vhost: filepath.Join(n.folder, name+".sock"), VhostMode: mode, Network: "network1",
		Address: netip.AddrFrom4([4]byte{10, 0, 1, last}), MAC: config.MAC{2, 0, 0, 0, 1, last}, Label: label,
	})
}

func (n *node) runPoll(flags ...string) {
	n.t.Helper()
	n.run(append([]string{"--lease", "--mode", "poll", "--poll-pause", "50us", "--poll-program", lab.PollProgram(n.t)}, flags...)...)
}

// way is from one port of a node to another one's.
func way(from, to config.Port) *vmWay { return &vmWay{from: from, to: to} }

// toPort counts the packets that a port was given.
func (n *node) toPort(name string) uint64 { return n.vif(name).Tx.Packets }

func (n *node) vif(name string) control.Vif {
	n.t.Helper()
	rows := ask[[]control.Vif](n, "vif")
	i := slices.IndexFunc(rows, func(v control.Vif) bool { return v.Name == name })
	return rows[i]
}

func (n *node) awaitMore(name string) {
	n.t.Helper()
	before := n.toPort(name)
	lab.Await(n.t, "packets come to "+name, func() bool { return n.toPort(name) > before+enough })
}

// awaitQuiet waits until nothing is under way any more.
func (n *node) awaitQuiet() {
	n.t.Helper()
	last := ask[control.Stats](n, "stats").Received
	lab.Await(n.t, "packets have ended", func() bool {
		before := last
		last = ask[control.Stats](n, "stats").Received
		return last == before
	})
}

func (n *node) unlinked() []string { return ask[control.Status](n, "status").Poll.Unlinked }

func (n *node) awaitLinked() {
	n.t.Helper()
	lab.Await(n.t, "all VMs are there", func() bool { return len(n.unlinked()) == 0 })
}

// onlyFull: what a VM or a wire is too slow for is dropped by that name, and nothing else is.
func onlyFull(t *testing.T, s control.Stats) {
	t.Helper()
	for reason, count := range s.Drops {
		if reason != "tx_full" {
			t.Errorf("%v packets dropped as %s", count, reason)
		}
	}
}

// TestPollVhost: packets go from VM to VM, whoever listens at their sockets; each is accounted for, here
// and there; and at the end no socket is left.
func TestPollVhost(t *testing.T) {
	for _, mode := range []config.VhostMode{config.VhostServer, config.VhostClient} {
		t.Run(string(mode), func(t *testing.T) {
			n := vhostNode(t, mode)
			n.runPoll()
			if gone := n.unlinked(); !slices.Equal(gone, []string{"vm1", "vm2"}) {
				t.Errorf("before: %v are not there", gone)
			}
			vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
			receiver := startVM(t, vm2, nil)
			receiver.awaitReady()
			sender := startVM(t, vm1, way(vm1, vm2))
			n.awaitLinked()
			n.awaitMore("vm2")
			_, sent := sender.end()
			n.awaitQuiet()
			s := n.addsUp()
			onlyFull(t, s)
			// A ring of 256 packets may go with the VM that had put them there.
			if s.Received.Packets > sent || s.Received.Packets+256 < sent {
				t.Errorf("%d packets were sent, and %d received", sent, s.Received.Packets)
			}
			if received, _ := receiver.end(); received != s.Forwarded.Packets {
				t.Errorf("%d packets were forwarded, and %d arrived", s.Forwarded.Packets, received)
			}
			if per := ask[control.Status](n, "status").Poll.CyclesPerPacket; per < 10 || per > 1e6 {
				t.Errorf("a packet has taken %v cycles", per)
			}
			n.end()
			for _, p := range n.config.Ports {
				if _, err := os.Lstat(p.Vhost); mode == config.VhostServer && err == nil {
					t.Errorf("the socket %s is left", p.Vhost)
				}
			}
		})
	}
}

// TestPollVhostSpoofed: a VM may not send from another's address, though both are of one network.
func TestPollVhostSpoofed(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	for from, want := range map[string]string{"10.0.1.3": "to port vm2 by", "10.0.1.5": "spoofed_address"} {
		if out, _ := n.tool("trace", "--port", "vm1", "--from", from, "--to", "10.0.1.5"); !strings.Contains(out, want) {
			t.Errorf("from %s: not %q in\n%s", from, want, out)
		}
	}
}

// TestPollVhostDies: a VM that is killed while it receives, and one while it sends, stop nobody, and
// are served again when they are back; garbage at a socket is nobody's.
func TestPollVhostDies(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	sender, receiver := startVM(t, vm1, way(vm1, vm2)), startVM(t, vm2, nil)
	n.awaitMore("vm2")
	receiver.kill()
	lab.Await(t, "vm2 is gone", func() bool { return slices.Equal(n.unlinked(), []string{"vm2"}) })
	startVM(t, vm2, nil)
	n.awaitMore("vm2")
	sender.kill()
	lab.Await(t, "vm1 is gone", func() bool { return slices.Equal(n.unlinked(), []string{"vm1"}) })
	sender = startVM(t, vm1, way(vm1, vm2))
	n.awaitMore("vm2")
	for _, text := range []string{"", "GET / HTTP/1.0\r\n\r\n", string(make([]byte, 4096))} {
		garbage(t, vm2.Vhost, text)
	}
	n.awaitMore("vm2")
	sender.end()
	n.awaitQuiet()
	onlyFull(t, n.addsUp())
	if s := ask[control.Status](n, "status"); s.Poll.Restarts != 0 || s.Problem != "" {
		t.Errorf("%d restarts, problem %q", s.Poll.Restarts, s.Problem)
	}
}

func garbage(t *testing.T, socket, text string) {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte(text)) // it may have been hung up on already
}

// TestPollVhostProcessDies: a process that was killed comes back to the VMs that listen, and takes
// their packets up again.
func TestPollVhostProcessDies(t *testing.T) {
	n := vhostNode(t, config.VhostClient)
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	startVM(t, vm2, nil)
	sender := startVM(t, vm1, way(vm1, vm2))
	n.awaitMore("vm2")
	pid := n.pollPID()
	n.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	lab.Await(t, "there is another process", func() bool {
		now := n.pollPID()
		return now != 0 && now != pid
	})
	n.awaitLinked()
	n.awaitMore("vm2")
	sender.end()
	n.awaitQuiet()
	onlyFull(t, n.addsUp())
}

// TestPollVhostKilled: what a killed vRouter leaves of its sockets is in nobody's way; what others
// have at such a path is.
func TestPollVhostKilled(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	pid := n.pollPID()
	lab.Stop(t, pid) // so that it cannot clear up
	n.signal(syscall.SIGKILL)
	n.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	lab.Await(t, "the process has ended", func() bool { return !exists(pid) })
	if _, err := os.Lstat(n.config.Ports[0].Vhost); err != nil {
		t.Fatalf("there is no socket left to be in the way: %v", err)
	}
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	startVM(t, vm2, nil)
	startVM(t, vm1, way(vm1, vm2))
	n.awaitMore("vm2")
}

// TestPollVhostLengths: what is longer than the receiving port's MTU, in one buffer or in several, has its
// name, and does not arrive.
func TestPollVhostLengths(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.config.Ports[1].MTU = 600
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	startVM(t, vm2, nil)
	for bytes, arrives := range map[string]bool{"614": true, "615": false, "2000,2000": false} {
		before, received, lost := n.toPort("vm2"), n.vif("vm1").Rx.Packets, ask[control.Stats](n, "stats").Drops["mtu_exceeded"]
		sender := startVM(t, vm1, &vmWay{vm1, vm2, bytes})
		lab.Await(t, "packets are received", func() bool { return n.vif("vm1").Rx.Packets > received+enough })
		sender.end()
		n.awaitQuiet()
		if came := n.toPort("vm2") > before; came != arrives {
			t.Errorf("frames of %s bytes: they come to vm2: %v", bytes, came)
		}
		if named := ask[control.Stats](n, "stats").Drops["mtu_exceeded"] > lost; named == arrives {
			t.Errorf("frames of %s bytes: they are dropped as mtu_exceeded: %v", bytes, named)
		}
		n.addsUp()
	}
	for reason := range ask[control.Stats](n, "stats").Drops {
		if reason != "mtu_exceeded" && reason != "tx_full" {
			t.Errorf("packets were dropped as %s", reason)
		}
	}
}

// TestVhostRefusals: sockets that cannot be made are refused before anything is done.
func TestVhostRefusals(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	if text, code := n.runs("--socket", n.socket()); code != 2 || !strings.Contains(text, `"vhost" is for poll mode`) {
		t.Errorf("kernel mode: exit code %d, %s", code, text)
	}
	good := n.config.Ports[0].Vhost
	file, taken := filepath.Join(n.folder, "file"), filepath.Join(n.folder, "taken")
	n.Must("making a file", os.WriteFile(file, []byte("somebody's"), 0o600))
	listener, err := net.Listen("unix", taken)
	n.Must("listening", err)
	defer listener.Close()
	for path, says := range map[string]string{
		file:                               "is there already, and no socket",
		taken:                              "somebody else listens at the socket",
		filepath.Join(n.folder, "no/sock"): "the folder " + n.folder + "/no of the vhost-user socket is not there",
	} {
		n.config.Ports[0].Vhost = path
		if text, code := n.second(); code != 2 || !strings.Contains(text, says) {
			t.Errorf("%s: exit code %d, %s", path, code, text)
		}
	}
	n.config.Ports[0].Vhost = good
	if text, err := os.ReadFile(file); err != nil || string(text) != "somebody's" {
		t.Errorf("the file now holds %q (%v)", text, err)
	}
	if _, err := net.Dial("unix", taken); err != nil {
		t.Errorf("the socket of somebody else: %v", err)
	}
}

// TestPollVhostTunnel: from a VM by a tunnel to a VM of another node, both in poll mode.
func TestPollVhostTunnel(t *testing.T) {
	for _, encapsulation := range []config.Encapsulation{config.MPLSoUDP, config.VXLAN} {
		t.Run(string(encapsulation), func(t *testing.T) {
			a, b := vhostNode(t, config.VhostServer), newNode(t, "b", "10.0.0.2")
			a.Delete("wire0")
			lab.Veth(a.Namespace, "wire0", b.Namespace, "wire0", wireMTU, "")
			a.Address("wire0", "10.0.0.1/24")
			b.Address("wire0", "10.0.0.2/24")
			b.vhostPort("vm3", 4, 17, config.VhostServer)
			a.route("10.0.1.4/32", "10.0.0.2", encapsulation, 17)
			b.route("10.0.1.3/32", "10.0.0.1", encapsulation, 16)
			for _, n := range []*node{a, b} {
				n.runPoll()
			}
			for _, n := range []*node{a, b} {
				lab.Await(t, "all tunnels are resolved", n.resolved)
			}
			vm1, vm3 := a.config.Ports[0], b.config.Ports[0]
			receiver := startVM(t, vm3, nil)
			receiver.awaitReady()
			sender := startVM(t, vm1, way(vm1, vm3))
			b.awaitMore("vm3")
			sender.end()
			a.awaitQuiet()
			b.awaitQuiet()
			onlyFull(t, a.addsUp())
			s := b.addsUp()
			onlyFull(t, s)
			if received, _ := receiver.end(); received != s.Forwarded.Packets {
				t.Errorf("%d packets were forwarded to the VM, and %d arrived", s.Forwarded.Packets, received)
			}
		})
	}
}
