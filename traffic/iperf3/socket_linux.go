package iperf3

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// set gives a socket its options, before it connects: buffers and the segment
// size are agreed on in the handshake (RFC 7323, RFC 9293 section 3.7.1).
func (o socketOptions) set(fd uintptr, network string) error {
	s := int(fd)
	for _, step := range []struct {
		wanted bool
		number int
		what   string
		do     func() error
	}{
		{o.reuse, ErrorInitStream, "letting the port be shared (SO_REUSEADDR)", func() error { return unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) }},
		{o.device != "", ErrorBindDevice, "binding to the device " + o.device, func() error { return unix.BindToDevice(s, o.device) }},
		{o.window > 0, ErrorSetBuffer, fmt.Sprintf("setting buffers of %d bytes", o.window), func() error { return o.setWindow(s) }},
		{o.mss > 0 && !o.datagrams, ErrorSetMSS, fmt.Sprintf("setting the MSS to %d bytes, of which Linux takes 88 to 32,767", o.mss), func() error { return unix.SetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.mss) }},
		{o.congestion != "" && !o.datagrams, ErrorSetCongestion, "setting the congestion control " + o.congestion, func() error { return traffic.SetCongestion(s, o.congestion) }},
		{o.tos > 0, ErrorSetTOS, fmt.Sprintf("setting the TOS to %d", o.tos), func() error { return setTOS(s, o.tos, network) }},
		{o.fqRate > 0, ErrorSetPacing, fmt.Sprintf("pacing by the kernel at %.0f bit/s", o.fqRate), func() error {
			return unix.SetsockoptUint64(s, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, uint64(o.fqRate/8))
		}},
		{o.userTimeout > 0 && !o.datagrams, ErrorSetUserTimeout, "setting TCP_USER_TIMEOUT", func() error {
			return unix.SetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(o.userTimeout.Milliseconds()))
		}},
		{o.dontFragment && o.datagrams && !isV6(network), ErrorDontFragment, "forbidding fragments", func() error { return unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO) }},
	} {
		if !step.wanted {
			continue
		}
		if err := step.do(); err != nil {
			return &OptionError{step.number, fmt.Errorf("%s: %w", step.what, err)}
		}
	}
	if o.window > 0 {
		return o.checkWindow(s)
	}
	return nil
}

// setWindow goes over the host's bounds, where that is permitted, for its own user only.
func (o socketOptions) setWindow(fd int) error {
	if o.within {
		return traffic.SetBuffersWithin(fd, o.window, o.window)
	}
	return traffic.SetBuffers(fd, o.window, o.window)
}

// checkWindow refuses, as iperf3 does, what the kernel has cut to less.
func (o socketOptions) checkWindow(fd int) error {
	f := look(uintptr(fd))
	if given := min(f.sendBuffer, f.receiveBuffer); given < o.window {
		return &OptionError{ErrorBufferSize, fmt.Errorf("of buffers of %d bytes the system gives %d: ask for less, or raise net.core.rmem_max and wmem_max", o.window, given)}
	}
	return nil
}

// setTOS sets the traffic class, too, where the socket is of IPv6, which may carry both.
func setTOS(fd, tos int, network string) error {
	v4 := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos)
	if v6 := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos); isV6(network) {
		return v6
	}
	return v4
}

// look reads what a socket really has.
func look(fd uintptr) socketFacts {
	s := int(fd)
	f := socketFacts{fd: s}
	f.mss, _ = unix.GetsockoptInt(s, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	f.sendBuffer, _ = unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_SNDBUF)
	f.receiveBuffer, _ = unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF)
	f.congestion, _ = unix.GetsockoptString(s, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return f
}

// errnoOf is the system's error number within an error, as the peer's system
// will read it: 0 where there is none.
func errnoOf(err error) int {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return int(errno)
	}
	return 0
}
