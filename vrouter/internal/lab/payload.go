package lab

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Payload counts the bytes of TCP's payload that a namespace receives, again and again if they come so, of
// aggregates as well. It takes no copy of a packet.
type Payload struct {
	n   *Namespace
	sum *ebpf.Map
}

// NewPayload begins to count; it ends with the test.
func NewPayload(n *Namespace) *Payload {
	n.t.Helper()
	sum, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	n.Must("making a counter", err)
	n.t.Cleanup(func() { sum.Close() })
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "GPL", Instructions: countPayload(sum)})
	n.Must("loading a filter", err)
	defer program.Close() // the socket has it
	n.Do(func() error {
		all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0) // of no protocol yet: it hears nothing
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { unix.Close(fd) })
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, program.FD()); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all)})
	})
	return &Payload{n: n, sum: sum}
}

// Bytes is how many there were until now.
func (p *Payload) Bytes() int {
	p.n.t.Helper()
	var bytes uint64
	p.n.Must("reading a counter", p.sum.Lookup(uint32(0), &bytes))
	return int(bytes)
}

const (
	ethernet  = 14
	ipv6      = 40
	protoTCP  = 6
	lengthAt  = 0 // of __sk_buff's len
	etherType = 12
	protocol4 = ethernet + 9
	protocol6 = ethernet + 6
	dataAt    = 12 // of the TCP header: its length
)

// countPayload keeps no packet. What is sent from here is counted, too: a receiver's acknowledgements have
// no payload. R6 is what LoadAbs reads from, R7 what is left of the length, R8 the IP header's.
func countPayload(sum *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R7, asm.R6, lengthAt, asm.Word),
		asm.LoadAbs(etherType, asm.Half),
		asm.JEq.Imm(asm.R0, unix.ETH_P_IPV6, "six"),
		asm.JNE.Imm(asm.R0, unix.ETH_P_IP, "none"),
		asm.LoadAbs(protocol4, asm.Byte),
		asm.JNE.Imm(asm.R0, protoTCP, "none"),
		asm.LoadAbs(ethernet, asm.Byte),
		asm.And.Imm(asm.R0, 0xf),
		asm.LSh.Imm(asm.R0, 2),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.Ja.Label("tcp"),
		asm.LoadAbs(protocol6, asm.Byte).WithSymbol("six"),
		asm.JNE.Imm(asm.R0, protoTCP, "none"),
		asm.Mov.Imm(asm.R8, ipv6),
		asm.LoadInd(asm.R0, asm.R8, ethernet+dataAt, asm.Byte).WithSymbol("tcp"),
		asm.RSh.Imm(asm.R0, 4),
		asm.LSh.Imm(asm.R0, 2),
		asm.Sub.Imm(asm.R7, ethernet),
		asm.Sub.Reg(asm.R7, asm.R8),
		asm.Sub.Reg(asm.R7, asm.R0),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.StoreImm(asm.R2, 0, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, sum.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "none"),
		asm.StoreXAdd(asm.R0, asm.R7, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("none"),
		asm.Return(),
	}
}
