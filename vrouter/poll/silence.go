package poll

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/owner"
)

// silence keeps the host's own stack out of what the process does: AF_PACKET shows the process
// packets, and does not take them away from the stack.
//
// At a port, programs at tc drop all that comes in and all that the stack would send. Sockets of
// AF_PACKET are before them on the way in (__netif_receive_skb_core), and what the process's own send
// has a mark (SO_MARK). So a container reaches the host no more than in kernel mode.
//
// At the fabric, which the host uses as well, sockets take the tunnels' packets, and drop them: the
// stack would tell the other nodes that nobody listens (RFC 1122, sections 3.2.2.1 and 4.1.3.1). A program
// that does nothing says there whose it is, as those at ports do.
type silence struct {
	held map[uint32][]io.Closer
	mark owner.Mark
	ours ebpf.MapID // of a table that is there for nothing but its number
	own  *ebpf.Map
}

func newSilence(name string) (s silence, err error) {
	s.held = make(map[uint32][]io.Closer)
	s.own, err = ebpf.NewMap(&ebpf.MapSpec{Name: owner.MapNodes, Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	if err != nil {
		return s, fmt.Errorf("making a map to be known by: %w; root is needed", err)
	}
	if s.ours, err = owner.MapID(s.own); err == nil {
		s.mark, err = owner.NewMark(name, "")
	}
	return s, err
}

// mayTake refuses interfaces that another vRouter has. Those that this one has stay its own.
func (s silence) mayTake(interfaces []uint32) error {
	for _, ifindex := range interfaces {
		if ifindex == 0 { // none, but a VM's socket or the like
			continue
		}
		if err := owner.Refuse(ifindex, s.ours); err != nil {
			return err
		}
	}
	return nil
}

func (s silence) begin(at config.Attachment) error {
	if len(s.held[at.Vif]) > 0 || !at.Driver.IsInterface() { // the host's stack has no part in anything else
		return nil
	}
	ifindex := at.Ifindex
	if at.Host != "" { // that has this number, and the device another one
		device, err := net.InterfaceByName(at.Interface)
		if err != nil {
			return fmt.Errorf("looking for the interface: %w", err)
		}
		ifindex = uint32(device.Index)
	}
	held, err := s.take(at, int(ifindex))
	if err == nil {
		err = s.mayTake([]uint32{ifindex}) // of two that come at once, the later one sees the other's
	}
	if err != nil {
		return errors.Join(err, closeAll(held))
	}
	s.held[at.Vif] = held
	return nil
}

func (s silence) take(at config.Attachment, ifindex int) ([]io.Closer, error) {
	if at.Vif != 0 || at.Host != "" {
		return s.plugs(ifindex)
	}
	held, err := drains(at.Interface)
	if err != nil {
		return held, err
	}
	l, err := s.plug(ifindex, ebpf.AttachTCXIngress, asm.Instructions{asm.Mov.Imm(asm.R0, tcxNext), asm.Return()})
	if err != nil {
		return held, err
	}
	return append(held, l), nil
}

func (s silence) end(at config.Attachment) error {
	held := s.held[at.Vif]
	delete(s.held, at.Vif)
	return closeAll(held)
}

func (s silence) close() error {
	var failed []error
	for _, held := range s.held {
		failed = append(failed, closeAll(held))
	}
	s.mark.Close()
	s.own.Close()
	return errors.Join(failed...)
}

func closeAll(held []io.Closer) error {
	var failed []error
	for _, c := range held {
		failed = append(failed, c.Close())
	}
	return errors.Join(failed...)
}

// tcShot is TC_ACT_SHOT of linux/pkt_cls.h.
const tcShot = 2

const (
	mark   = 0x76720001 // of what the process sends: POLL_MARK in socket.c
	markAt = 8          // of __sk_buff
)

// plugs drop everything at an interface that is not the process's, in both directions, until this
// process ends.
func (s silence) plugs(ifindex int) (held []io.Closer, err error) {
	for at, program := range map[ebpf.AttachType]asm.Instructions{
		ebpf.AttachTCXIngress: {asm.Mov.Imm(asm.R0, tcShot), asm.Return()},
		ebpf.AttachTCXEgress: {
			asm.Mov.Imm(asm.R0, tcShot),
			asm.LoadMem(asm.R2, asm.R1, markAt, asm.Word),
			asm.JNE.Imm(asm.R2, mark, "end"),
			asm.Mov.Imm(asm.R0, tcxNext),
			asm.Return().WithSymbol("end"),
		},
	} {
		l, err := s.plug(ifindex, at, program)
		if err != nil {
			return held, err
		}
		held = append(held, l)
	}
	return held, nil
}

func (s silence) plug(ifindex int, at ebpf.AttachType, instructions asm.Instructions) (link.Link, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "vr_poll_plug", Type: ebpf.SchedCLS, License: "Dual BSD/GPL", Instructions: instructions,
	})
	if err != nil {
		return nil, fmt.Errorf("loading a program that drops: %w; root is needed", err)
	}
	defer program.Close() // the link holds it
	if err := errors.Join(program.BindMap(s.own), s.mark.Bind(program)); err != nil {
		return nil, fmt.Errorf("saying whose a program is: %w", err)
	}
	l, err := link.AttachTCX(link.TCXOptions{Interface: ifindex, Program: program, Attach: at, Anchor: link.Head()})
	if err != nil {
		return nil, fmt.Errorf("keeping the host's stack from the interface: %w; poll mode needs Linux 6.6 for it", err)
	}
	return l, nil
}

// Ports of the tunnels: RFC 7510, section 7; RFC 7348, section 8.
var tunnelPorts = []int{6635, 4789}

// drains are sockets that take what tunnels bring to an interface, and keep nothing. Where somebody
// has a port already (a VXLAN device of the host's), or there is no IPv6, nothing is left to do.
func drains(device string) (held []io.Closer, err error) {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		for _, port := range tunnelPorts {
			if held, err = drain(held, device, family, unix.SOCK_DGRAM, unix.IPPROTO_UDP, port); err != nil {
				return held, err
			}
		}
		if held, err = drain(held, device, family, unix.SOCK_RAW, unix.IPPROTO_GRE, 0); err != nil {
			return held, err
		}
	}
	return held, nil
}

// A drainSocket is a socket's file descriptor.
type drainSocket int

// Close closes it.
func (s drainSocket) Close() error { return unix.Close(int(s)) }

func drain(held []io.Closer, device string, family, kind, protocol, port int) ([]io.Closer, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return held, nil
	}
	if err != nil {
		return held, fmt.Errorf("opening a socket for tunnel packets: %w", err)
	}
	err = errors.Join(unix.BindToDevice(fd, device), dropAll(fd))
	if err == nil && family == unix.AF_INET6 && port != 0 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil && port != 0 {
		err = bind(fd, family, port)
	}
	if err == nil {
		return append(held, drainSocket(fd)), nil
	}
	unix.Close(fd)
	if errors.Is(err, unix.EADDRINUSE) {
		return held, nil
	}
	return held, fmt.Errorf("opening a socket for tunnel packets of %s: %w", device, err)
}

func bind(fd, family, port int) error {
	if family == unix.AF_INET6 {
		return unix.Bind(fd, &unix.SockaddrInet6{Port: port})
	}
	return unix.Bind(fd, &unix.SockaddrInet4{Port: port})
}

// dropAll is a filter of one instruction: keep 0 bytes (socket(7), SO_ATTACH_FILTER).
func dropAll(fd int) error {
	filter := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &filter[0]})
}
