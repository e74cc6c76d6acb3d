package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/packet"
)

// spray is what frames of one network differ in.
type spray struct {
	template     []byte // sprayFrame bytes, or sprayFrame6; with the FCS 4 more
	destinations int    // a random one of so many addresses; 0: the template's
	flows        int    // a random one of so many pairs of UDP ports; 0: the template's
}

const (
	sprayFrame  = 60
	sprayFrame6 = 64 // the headers of UDP over IPv6 have 62
	sprayBatch  = 64
	// Frames a call: as many as a window has. Behind each call the kernel waits for RCU
	// (bpf_dispatcher_change_prog), for which the sender was idle a quarter of its time with 65,536.
	sprayRepeat  = 1 << 23
	offsetIPSum  = 24
	offsetTo     = 30 // the destination address, behind which come the ports
	offsetPorts  = 34
	offsetPorts6 = 54
	udpSum       = 6 // behind the ports' offset
)

// The destinations are spread over 11.0.0.0/8: an odd factor gives no two numbers of 24 bits the
// same address, and neighbours none that are near, as a table of routes from everywhere has them.
const (
	spreadOver   = 11 << 24
	spreadBits   = 24
	spreadFactor = 10_368_889
)

func destination(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], spreadOver|uint32(uint64(i)*spreadFactor)&(1<<spreadBits-1))
	return netip.AddrFrom4(b)
}

// templates makes frames of a container, and keeps the first error.
type templates struct{ err error }

func (t *templates) build(s packet.Spec) []byte {
	s.SourceMAC, s.SourcePort, s.DestinationPort, s.TTL = senderMAC, 40000, 40001, 64
	if s.Size = sprayFrame - 14; s.Source.Is6() {
		s.Size = sprayFrame6 - 14
	}
	frame, err := packet.Build(s)
	t.err = cmp.Or(t.err, err)
	return frame
}

// udp has no UDP checksum, since its addresses and ports change: IPv4 allows that (RFC 768), and routers do
// not look at it.
func (t *templates) udp(mac [6]byte, source, to netip.Addr) []byte {
	frame := t.build(packet.Spec{DestinationMAC: mac, Source: source, Destination: to, Protocol: "udp"})
	if t.err == nil {
		at := portsOf(frame) + udpSum
		frame[at], frame[at+1] = 0, 0
	}
	return frame
}

// portsOf is where a frame without options and extensions has its ports.
func portsOf(frame []byte) int16 {
	if frame[14]>>4 == 6 {
		return offsetPorts6
	}
	return offsetPorts
}

// syn begins a connection, and asks for segments that are too long for a tunnel (RFC 9293, section 3.2).
// Nobody answers it.
func (t *templates) syn(source, to netip.Addr) []byte {
	frame := t.build(packet.Spec{DestinationMAC: gatewayMAC, Source: source, Destination: to, Protocol: "tcp"})
	if t.err == nil {
		frame[46] = 6 << 4 // a header of 24 bytes
		copy(frame[54:], []byte{2, 4, 1500 >> 8, 1500 & 0xff})
	}
	return frame
}

// program writes a frame and sends it out of an interface. The kernel gives it the same pages again and
// again, as the last receiver left them (bpf_test_run_xdp_live), so it writes all of it each time. Once
// the word of the map over is not 0, it sends nothing.
func (s spray) program(ifindex int, over *ebpf.Map) (*ebpf.Program, error) {
	template := append([]byte{}, s.template...)
	if s.destinations > 0 {
		clear(template[offsetIPSum : offsetIPSum+2])
		clear(template[offsetTo : offsetTo+4])
	}
	code := asm.Instructions{
		asm.LoadMapValue(asm.R2, over.FD(), 0),
		asm.LoadMem(asm.R2, asm.R2, 0, asm.Word),
		asm.JNE.Imm(asm.R2, 0, "over"),
		asm.LoadMem(asm.R7, asm.R1, 0, asm.Word), // xdp_md.data
		asm.LoadMem(asm.R8, asm.R1, 4, asm.Word), // and data_end
		asm.Mov.Reg(asm.R2, asm.R7),
		asm.Add.Imm(asm.R2, int32(len(template))),
		asm.JGT.Reg(asm.R2, asm.R8, "short"),
	}
	for at := 0; at < len(template); at += 4 {
		code = append(code,
			asm.Mov.Imm32(asm.R1, int32(binary.LittleEndian.Uint32(template[at:]))),
			asm.StoreMem(asm.R7, int16(at), asm.R1, asm.Word))
	}
	if s.destinations > 0 {
		code = append(code, chooseDestination(s.destinations, headerSum(template))...)
	}
	if s.flows > 0 {
		code = append(code, chooseFlow(s.flows, portsOf(template))...)
	}
	code = append(code,
		asm.Mov.Imm(asm.R1, int32(ifindex)),
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("short"), // XDP_ABORTED
		asm.Return(),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("over"), // XDP_DROP
		asm.Return(),
	)
	return ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: code})
}

// newWord makes a map of one word.
func newWord() (*ebpf.Map, error) {
	word, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		return nil, fmt.Errorf("making the map that ends a spray: %w", err)
	}
	return word, nil
}

// headerSum adds up the IPv4 header's words: RFC 1071.
func headerSum(frame []byte) (sum int32) {
	for at := 14; at < 34; at += 2 {
		sum += int32(binary.BigEndian.Uint16(frame[at:]))
	}
	return sum
}

// chooseDestination writes a random address, and the header's checksum.
func chooseDestination(count int, sum int32) asm.Instructions {
	code := asm.Instructions{
		asm.FnGetPrandomU32.Call(),
		asm.Mod.Imm(asm.R0, int32(count)),
		asm.Mul.Imm(asm.R0, spreadFactor),
		asm.And.Imm(asm.R0, 1<<spreadBits-1),
		asm.Or.Imm(asm.R0, spreadOver),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.RSh.Imm(asm.R1, 16),
		asm.Mov.Reg(asm.R2, asm.R0),
		asm.And.Imm(asm.R2, 0xffff),
		asm.Add.Reg(asm.R1, asm.R2),
		asm.Add.Imm(asm.R1, sum),
	}
	for range 2 { // the carries
		code = append(code,
			asm.Mov.Reg(asm.R2, asm.R1),
			asm.RSh.Imm(asm.R2, 16),
			asm.And.Imm(asm.R1, 0xffff),
			asm.Add.Reg(asm.R1, asm.R2))
	}
	return append(code,
		asm.Xor.Imm(asm.R1, 0xffff),
		asm.HostTo(asm.BE, asm.R1, asm.Half),
		asm.StoreMem(asm.R7, offsetIPSum, asm.R1, asm.Half),
		asm.HostTo(asm.BE, asm.R0, asm.Word),
		asm.StoreMem(asm.R7, offsetTo, asm.R0, asm.Word))
}

// chooseFlow writes a random one of the pairs of ports: the destination's change where the source's are
// used up.
func chooseFlow(count int, at int16) asm.Instructions {
	const sources = 1 << 15
	return asm.Instructions{
		asm.FnGetPrandomU32.Call(),
		asm.Mod.Imm(asm.R0, int32(count)),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.And.Imm(asm.R1, sources-1),
		asm.Or.Imm(asm.R1, sources),
		asm.RSh.Imm(asm.R0, 15),
		asm.Add.Imm(asm.R0, 20000), // away from the ports of tunnels, which containers may not use
		asm.HostTo(asm.BE, asm.R1, asm.Half),
		asm.HostTo(asm.BE, asm.R0, asm.Half),
		asm.StoreMem(asm.R7, at, asm.R1, asm.Half),
		asm.StoreMem(asm.R7, at+2, asm.R0, asm.Half),
	}
}

// run sends live frames until the context ends, on the calling thread and in its namespace.
func (s spray) run(ctx context.Context, ifindex int) error {
	over, err := newWord()
	if err != nil {
		return err
	}
	defer over.Close()
	program, err := s.program(ifindex, over)
	if err != nil {
		return fmt.Errorf("loading the program that sprays frames: %w", err)
	}
	defer program.Close()
	defer context.AfterFunc(ctx, func() { _ = over.Put(uint32(0), uint32(1)) })() // else the call is longer, no more
	options := ebpf.RunOptions{Data: s.template, Repeat: sprayRepeat, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, BatchSize: sprayBatch}
	for ctx.Err() == nil {
		if _, err := program.Run(&options); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("spraying live frames: %w", err)
		}
	}
	return nil
}
