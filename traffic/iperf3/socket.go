package iperf3

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// socketOptions is what a data socket is to have.
type socketOptions struct {
	datagrams    bool
	window       int  // bytes
	within       bool // a window within what the host allows anybody: a stranger asks for it
	mss          int
	tos          int
	congestion   string
	fqRate       float64 // bits per second
	dontFragment bool
	device       string
	userTimeout  time.Duration
	reuse        bool // other sockets may have the same port
}

// options are a data socket's for a test.
func (t Test) options() socketOptions {
	return socketOptions{
		datagrams: t.Protocol == UDP, window: t.Window, mss: t.MSS, tos: t.TOS, congestion: t.Congestion,
		fqRate: t.FQRate, dontFragment: t.DontFragment,
	}
}

// onlyOnLinux refuses the first option that the portable calls of another system have not.
func (o socketOptions) onlyOnLinux(system string) error {
	for _, missing := range []struct {
		wanted bool
		number int
		flag   string
	}{
		{o.device != "", ErrorBindDevice, "binding to a device"},
		{o.mss > 0 && !o.datagrams, ErrorSetMSS, "a largest segment"},
		{o.congestion != "" && !o.datagrams, ErrorSetCongestion, "a congestion control"},
		{o.tos > 0, ErrorSetTOS, "a type of service"},
		{o.fqRate > 0, ErrorSetPacing, "pacing by the kernel"},
		{o.userTimeout > 0 && !o.datagrams, ErrorSetUserTimeout, "a send timeout"},
		{o.dontFragment && o.datagrams, ErrorDontFragment, "forbidding fragments"},
	} {
		if missing.wanted {
			return &OptionError{missing.number, fmt.Errorf("%s cannot be set on %s here: leave the option out", missing.flag, system)}
		}
	}
	return nil
}

// control is the hook of net.Dialer and net.ListenConfig.
func (o socketOptions) control(network, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = o.set(fd, network) }); e != nil {
		return e
	}
	return err
}

// apply sets the options of a socket that was accepted.
func (o socketOptions) apply(conn net.Conn) error {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	network := "tcp4"
	if a := addressOf(conn.LocalAddr()); a.Addr().Is6() {
		network = "tcp6"
	}
	return o.control(network, "", raw)
}

func isV6(network string) bool { return strings.HasSuffix(network, "6") }

// socketFacts is what a socket really has; 0 and "" where the system does not tell.
type socketFacts struct {
	fd            int
	mss           int
	sendBuffer    int // bytes
	receiveBuffer int
	congestion    string
}

func factsOf(conn net.Conn) socketFacts {
	var f socketFacts
	if raw, err := conn.(syscall.Conn).SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { f = look(fd) })
	}
	return f
}

// addressOf is a socket's address, IPv4 in its own form.
func addressOf(a net.Addr) netip.AddrPort {
	var at netip.AddrPort
	switch a := a.(type) {
	case *net.TCPAddr:
		at = a.AddrPort()
	case *net.UDPAddr:
		at = a.AddrPort()
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}
