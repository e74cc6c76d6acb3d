package vrouter_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/kernel"
	"windtunnel/vrouter/packet"
)

// asFast has the containers finish their checksums and take frames of XDP, and asks for the fast path.
func (b *bed) asFast(fast config.Fast) {
	if !kernel.HaveXDPFeatures() {
		b.a.t.Skip("skip: needs a kernel that tells what drivers' XDP can do (Linux 6.3)")
	}
	for _, c := range []*container{b.a1, b.a2, b.b1} {
		offload(c.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false, "rx-gro": true})
	}
	for _, n := range []*node{b.a, b.b} {
		n.config.Fabric.Fast = fast
		for i := range n.config.Ports {
			n.config.Ports[i].Fast = fast
		}
	}
}

// fastOf is a port's part in the fast path.
func (n *node) fastOf(port string) control.Fast {
	for _, v := range ask[[]control.Vif](n, "vif") {
		if v.Name == port {
			return v.Fast
		}
	}
	n.t.Fatalf("there is no port %s", port)
	return control.Fast{}
}

// TestFastPath: with XDP forwarding what it can, all arrives as it was sent in each encapsulation,
// nothing is lost or counted twice, and nothing changes when it is switched off and on while the
// vRouter runs.
func TestFastPath(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) { fastPath(t, encapsulation, []config.Fast{config.FastOn}, "--lease") })
	}
	t.Run("off and on", func(t *testing.T) {
		fastPath(t, config.VXLAN, []config.Fast{config.FastOff, config.FastOn}, "--lease", "--clsact")
	})
}

func fastPath(t *testing.T, encapsulation config.Encapsulation, then []config.Fast, flags ...string) {
	b, mtu := newBed(t, encapsulation), innerMTU(encapsulation)
	b.a1.SetMTU("eth0", mtu) // so that fragments fit
	b.asFast(config.FastOn)
	b.run(flags...)
	for _, fast := range then {
		b.asFast(fast)
		b.a.Must("applying", b.a.apply())
		b.b.Must("applying", b.b.apply())
		before := b.a.fastOf("a1").Taken
		passes(t, b, mtu)
		if took := b.a.fastOf("a1").Taken > before; took != (fast == config.FastOn) {
			t.Errorf("fast %s: XDP took packets of a1: %t; %+v", fast, took, b.a.fastOf("a1"))
		}
		if s := b.a.addsUp(); s.Dropped.Packets != 0 {
			t.Errorf("node a dropped %v", s.Drops)
		}
		if s := b.b.addsUp(); s.Dropped.Packets != 0 {
			t.Errorf("node b dropped %v", s.Drops)
		}
	}
	if s := ask[control.Status](b.b, "status"); s.Fast.Way != "both" || s.Fast.Taken == 0 {
		t.Errorf("the fabric: %+v", s.Fast)
	}
	for _, n := range []*node{b.a, b.b} {
		n.end()
		if x := n.Link("wire0").Attrs().Xdp; x != nil && x.Attached {
			t.Error("XDP is still there")
		}
	}
}

// passes is a little of everything, between nodes and on one.
func passes(t *testing.T, b *bed, mtu int) {
	t.Helper()
	for to, from := range map[netip.Addr]*container{b.b1.address: b.a1, b.a2.address: b.b1, b.a1.address: b.a2} {
		if err := ping(from, to, 56); err != nil {
			t.Errorf("ping from %s to %s: %v", from.address, to, err)
		}
	}
	tcp(t, b.a1, b.b1, 2<<20)
	tcp(t, b.a1, b.a2, 2<<20)
	udpAggregate(t, b.a1, b.b1, mtu-28, 40, false)
	fragments(t, b.a1, b.b1)
}

// TestFastPathLeavesUnfinished: a container that leaves checksums and aggregates to its device is
// served as well, by tc.
func TestFastPathLeavesUnfinished(t *testing.T) {
	b, mtu := newBed(t, config.MPLSoUDP), innerMTU(config.MPLSoUDP)
	b.a1.SetMTU("eth0", mtu) // so that fragments fit
	b.asFast(config.FastOn)
	offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": true})
	b.run("--lease")
	passes(t, b, mtu)
	if f := b.a.fastOf("a1"); f.Passed == 0 {
		t.Errorf("a1: %+v", f)
	}
	b.a.addsUp()
	b.b.addsUp()
}

// TestFastUnknown: where the kernel cannot say what drivers' XDP can do, a fast path that must be is
// refused, with the reason, and one that may be is none.
func TestFastUnknown(t *testing.T) {
	if kernel.HaveXDPFeatures() {
		t.Skip("skip: needs a kernel that does not tell what drivers' XDP can do (before Linux 6.3)")
	}
	b := newBed(t, config.MPLSoUDP)
	b.a.run("--lease")
	if f := b.a.fastOf("a1"); f.Way != "off" {
		t.Errorf("a1: %+v", f)
	}
	b.a.config.Fabric.Fast = config.FastOn
	if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), "6.3") || !strings.Contains(err.Error(), "auto") {
		t.Errorf("what cannot be was applied: %v", err)
	}
}

// TestFastAuto: the fast path is taken where both ends were told to leave nothing to devices, and
// everything else says why not; what the container's end takes is followed as it changes.
func TestFastAuto(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asFast(config.FastAuto)
	for _, name := range []string{"wire0", "v-a1"} {
		offload(b.a.Namespace, name, map[string]bool{"tx-checksum-ip-generic": false})
	}
	offload(b.b.Namespace, "wire0", map[string]bool{"rx-gro": true}) // takes frames without a program, too
	b.run("--lease")
	if f := b.a.fastOf("a1"); f.Way != "both" {
		t.Errorf("a1: %+v", f)
	}
	if f := b.a.fastOf("a2"); f.Way != "off" || !strings.Contains(f.Why, "ethtool -K") {
		t.Errorf("a2: %+v", f)
	}
	if s := ask[control.Status](b.b, "status"); s.Fast.Way != "off" || s.Fast.Why == "" {
		t.Errorf("the fabric of node b: %+v", s.Fast)
	}
	offload(b.a1.Namespace, "eth0", map[string]bool{"rx-gro": false})
	lab.Await(t, "a1 takes no frames", func() bool { return b.a.fastOf("a1").Way == "in" })
	if err := ping(b.b1, b.a1.address, 56); err != nil {
		t.Error(err)
	}
	offload(b.a1.Namespace, "eth0", map[string]bool{"rx-gro": true})
	lab.Await(t, "a1 takes frames again", func() bool { return b.a.fastOf("a1").Way == "both" })
	b.a.addsUp()

	b.a.SetMTU("v-a2", 9000) // with which a veth takes no XDP
	b.a2.SetMTU("eth0", 9000)
	b.a.config.Ports[1].Fast = config.FastOn
	if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), "auto") {
		t.Errorf("what cannot be was applied: %v", err)
	}
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Error(err)
	}
}

// TestFastFrames: of frames that come faster than they can go, every one is in the account or in a
// link's counters.
func TestFastFrames(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asFast(config.FastOn)
	b.run("--lease")
	const frames = 200_000
	before := b.counters()
	liveFrames(t, b.a1, b.frame(t), frames)
	lab.Await(t, "every frame is accounted for", func() bool { return b.counters().explain(before, frames) })
	b.a.addsUp()
	b.b.addsUp()
	now := b.counters()
	t.Logf("of %d frames %d reached node a, %d node b, %d the container", frames, now.a-before.a, now.b-before.b, now.b1-before.b1)
	if now.b1 == before.b1 {
		t.Error("none arrived")
	}
	if f := b.a.fastOf("a1"); f.Taken < now.a-before.a {
		t.Errorf("XDP took %d", f.Taken)
	}
}

// frame is what a1 sends to b1.
func (b *bed) frame(t *testing.T) []byte {
	t.Helper()
	udpSocket(t, b.b1, 9) // so that b1 answers nothing
	frame, err := packet.Build(packet.Spec{
		SourceMAC: b.a.config.Ports[0].MAC, DestinationMAC: config.GatewayMAC, Source: b.a1.address, Destination: b.b1.address,
		Protocol: "udp", SourcePort: 9, DestinationPort: 9, Size: 50, TTL: 64, DontFragment: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// liveFrames has the kernel send a frame so many times out of a container, as XDP does. The kernel uses
// the same memory again and again, so the program writes the frame anew.
func liveFrames(t *testing.T, c *container, frame []byte, count uint32) {
	t.Helper()
	code := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // xdp_md.data
		asm.LoadMem(asm.R3, asm.R1, 4, asm.Word), // xdp_md.data_end
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, int32(len(frame))),
		asm.JGT.Reg(asm.R4, asm.R3, "end"),
	}
	for at := 0; at+8 <= len(frame); at += 8 {
		code = append(code,
			asm.LoadImm(asm.R5, int64(binary.LittleEndian.Uint64(frame[at:])), asm.DWord),
			asm.StoreMem(asm.R2, int16(at), asm.R5, asm.DWord))
	}
	c.Do(func() error {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Dual BSD/GPL", Instructions: append(code,
			asm.Mov.Imm(asm.R1, int32(c.Link("eth0").Attrs().Index)),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirect.Call(),
			asm.Return(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
			asm.Return(),
		)})
		if err != nil {
			return err
		}
		defer program.Close()
		const live = 1 << 1 // BPF_F_TEST_XDP_LIVE_FRAMES
		if _, err = program.Run(&ebpf.RunOptions{Data: frame, Repeat: count, Flags: live}); err != nil {
			return fmt.Errorf("sending XDP live frames (Linux 5.18): %w", err)
		}
		return nil
	})
}

// counters are how far packets came, and what the devices on the way say that they lost.
type counters struct{ a, b, b1, lostA1, lostA, lostB uint64 }

func (b *bed) counters() counters {
	link := func(n *lab.Namespace, name string) *netlink.LinkStatistics { return n.Link(name).Attrs().Statistics }
	there := ask[control.Stats](b.b, "stats") // what is passed on there is the nodes' own ARP
	return counters{
		a: ask[control.Stats](b.a, "stats").ReceivedVif.Packets, b: there.ReceivedFabric.Packets - there.Passed.Packets,
		b1:     link(b.b1.Namespace, "eth0").RxPackets,
		lostA1: link(b.a1.Namespace, "eth0").TxDropped, lostA: link(b.a.Namespace, "wire0").TxDropped, lostB: link(b.b.Namespace, "v-b1").TxDropped,
	}
}

// explain tells whether so many frames are all found: by the next hop, or in the device's own account.
func (c counters) explain(before counters, sent uint64) bool {
	return c.a-before.a+c.lostA1-before.lostA1 == sent &&
		c.b-before.b+c.lostA-before.lostA == c.a-before.a && c.b1-before.b1+c.lostB-before.lostB == c.b-before.b
}

// TestFastTrace: a trial says what XDP does with a frame.
func TestFastTrace(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asFast(config.FastOn)
	b.run("--lease")
	for proto, want := range map[string][]string{
		"udp": {"XDP forwards it", "by the fabric wire0", "mpls"}, "arp": {"XDP leaves it to tc", "the ARP request is answered"},
	} {
		out, code := b.a.tool("trace", "--port", "a1", "--to", b.b1.address.String(), "--proto", proto)
		for _, w := range want {
			if !strings.Contains(out, w) || code != 0 {
				t.Errorf("%s: exit %d, not %q:\n%s", proto, code, w, out)
			}
		}
	}
	if s := b.a.addsUp(); s.Received != s.Passed { // the nodes' own ARP, which may be asked again
		t.Errorf("trials were counted: %+v", s)
	}
}

// TestFastLiveTrace: packets are seen while somebody watches, because they go by tc then, and by XDP
// before and after.
func TestFastLiveTrace(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asFast(config.FastOn)
	b.run("--lease")
	if !slices.Contains(b.a.ready["kernel_features"].([]any), any("tcx")) {
		t.Skip("skip: needs tcx (Linux 6.6)")
	}
	takes := func(while string, want bool) {
		t.Helper()
		before := b.a.fastOf("a1").Taken
		if err := ping(b.a1, b.b1.address, 56); err != nil {
			t.Error(err)
		}
		if b.a.fastOf("a1").Taken > before != want {
			t.Errorf("%s: XDP took packets: %t", while, !want)
		}
	}
	takes("before", true)
	links, shown := len(b.a.held()["link_id"]), make(chan string)
	go func() {
		out, _ := b.a.tool("trace", "--live", "--port", "a1", "--count", "2", "--seconds", "20")
		shown <- out
	}()
	lab.Await(t, "the watch stands", func() bool { return len(b.a.held()["link_id"]) == links+2 })
	takes("meanwhile", false)
	if out := <-shown; !strings.HasSuffix(out, "2 packets matched\n") {
		t.Errorf("live: %s", out)
	}
	lab.Await(t, "nothing of the watch stays", func() bool { return len(b.a.held()["link_id"]) == links })
	takes("after", true)
	b.a.addsUp()
}

// noXDP wants it to be off by now: a program that is about to go would still forward, to interfaces that may take
// its frames no more.
func (n *node) noXDP(interfaces ...string) {
	n.t.Helper()
	for _, name := range interfaces {
		if x := n.Link(name).Attrs().Xdp; x != nil && x.Attached {
			n.t.Errorf("XDP is still at %s", name)
		}
	}
}

// TestAdoptFast: the fast path goes on when the process is killed, with its counters; the next process
// takes it over or off, before it says that it is ready, and delete removes it.
func TestAdoptFast(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asFast(config.FastOn)
	b.b.privateBPF()
	b.b.config.Name = fmt.Sprintf("adopt-fast-%d", unix.Getpid())
	taken := uint64(0)
	for _, fast := range []config.Fast{config.FastOn, config.FastOn, config.FastOff, config.FastOn} {
		b.asFast(fast)
		b.run2("--lease", "")
		f := b.b.fastOf("b1")
		if (f.Way == "both") != (fast == config.FastOn) || fast == config.FastOn && f.Taken < taken {
			t.Errorf("fast %s: %+v, after %d", fast, f, taken)
		}
		if fast == config.FastOn {
			taken = f.Taken + 1
		} else {
			b.b.noXDP("wire0", "v-b1")
		}
		b.b.signal(syscall.SIGKILL)
		if err := ping(b.a1, b.b1.address, 56); err != nil {
			t.Errorf("with no process: %v", err)
		}
		b.a.end()
	}
	b.b.deletes()
	b.b.awaitNoXDP("wire0", "v-b1")
}

// TestFastPathAndPolicies: nothing of or to a port in flow mode takes a way past its policy.
func TestFastPathAndPolicies(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.asFast(config.FastOn)
	b.a.config.Policies = []config.Policy{webOnly}
	b.a.config.Ports[1].Flow.Policy = "web"
	if err := b.a.config.Validate(); err == nil || !strings.Contains(err.Error(), "flow mode") {
		t.Errorf("a port in flow mode was let onto the fast path: %v", err)
	}
	b.a.config.Ports[1].Fast = config.FastAuto
	b.run("--lease")
	to, beside := udpSocket(t, b.a2, 0), udpSocket(t, b.a1, 0)
	for _, from := range []*net.UDPConn{beside, udpSocket(t, b.b1, 0)} {
		from.WriteTo([]byte("denied"), to.LocalAddr())
	}
	lab.Await(t, "both are denied", func() bool { return ask[control.Stats](b.a, "stats").Drops["policy_denied"] == 2 })
	if !reaches(to, beside) || !reaches(beside, to) { // the answer belongs to the flow
		t.Error("what a policy allows did not arrive")
	}
	for _, v := range ask[[]control.Vif](b.a, "vif") {
		if fast := v.Name != "a2"; (v.Fast.Way == "both") != fast || !fast && v.Fast.Taken+v.Fast.Passed != 0 {
			t.Errorf("%s: %+v", v.Name, v.Fast)
		}
	}
	b.a.addsUp()
}
