package command

import (
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"strings"

	"windtunnel/traffic"
	"windtunnel/traffic/ntttcp"
)

// check refuses what ntttcp-for-linux refuses (verify_args in parameter.c). What
// the tool would silently bound is an error here.
func (l *linuxFlags) check() error {
	if l.usage {
		return nil
	}
	_, notAddress := netip.ParseAddr(l.local)
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{l.send && l.receive, "-s and -r: this end is one of them"},
		{l.local != "" && notAddress != nil, fmt.Sprintf("-a %s: it is the sender's own address", l.local)},
		{l.local != "" && !l.send, "-a is the sender's"},
		{l.many && l.send, "-M is the receiver's"},
		{l.last && !l.send, "-L is the sender's"},
		{l.many && l.noSync, "-M needs the synchronisation: leave -N away"},
		{l.last && l.noSync, "-L needs the synchronisation: leave -N away"},
		{l.many && l.run == 0, "-M needs a time: its senders take it over"},
		{l.ports > ntttcp.MaxPorts, fmt.Sprintf("-P: at most %d ports", ntttcp.MaxPorts)},
		{l.threads > ntttcp.MaxThreadsPerPort, fmt.Sprintf("-n: at most %d threads for each port", ntttcp.MaxThreadsPerPort)},
		{l.conns > ntttcp.MaxConnsPerThread, fmt.Sprintf("-l: at most %d connections of each thread", ntttcp.MaxConnsPerThread)},
		{l.send && l.ports*l.threads*l.conns > maxThreads, fmt.Sprintf("%d x %d x %d connections: at most %d", l.ports, l.threads, l.conns, maxThreads)},
		{l.udp && l.noDelay, "--no-delay is TCP's"},
		{l.warmUp+l.run+l.coolDown > math.MaxInt32, fmt.Sprintf("-W, -t and -C: at most %d s in all, as the ends tell each other a time in four bytes", math.MaxInt32)},
		{l.sourcePort > 0 && l.sourcePort+l.ports*l.threads*l.conns > 1<<16, "-f: the source ports would go over 65535"},
		{strings.HasPrefix(l.nic, "-") || strings.ContainsAny(l.nic, "/"), "--show-nic-packets takes an interface's name"},
	} {
		if rule.broken {
			return fmt.Errorf("%s", rule.says)
		}
	}
	if err := familyFits(l.local, l.v6); err != nil {
		return fmt.Errorf("-a: %w", err)
	}
	return hostFits(l.host, l.v6)
}

// messageLength is -b, or the role's default.
func (l *linuxFlags) messageLength() int {
	switch {
	case l.buffer > 0:
		return l.buffer
	case l.send:
		return linuxSendBuffer
	}
	return linuxReceiveBuffer
}

// test is the command line as a Test.
func (l *linuxFlags) test() ntttcp.Test {
	t := ntttcp.Test{
		Role: traffic.Receive, Sync: ntttcp.SyncLinux, UDP: l.udp, IPv6: l.v6,
		LocalHost: l.local, Message: l.messageLength(), SendBuffer: -1, ReceiveBuffer: -1,
		NoDelay: l.noDelay, Many: l.many, Last: l.last,
		WarmUp: seconds(l.warmUp), Run: seconds(l.run), CoolDown: seconds(l.coolDown),
	}
	if l.send {
		t.Role = traffic.Send
	}
	if l.noSync {
		t.Sync = ntttcp.SyncNone
	}
	if l.udp {
		t.Fill, t.GoesOn = ntttcp.LinuxUDPFill, true
		t.Message = min(t.Message, ntttcp.MaxDatagram)
	}
	t.Threads = l.lineUp()
	if limit := l.limit(); limit > 0 {
		t.BitsPerSecond = limit / float64(len(t.Threads)*l.conns)
	}
	return t
}

// limit is of all connections together, bits/s; -B goes before --fq-rate-limit.
func (l *linuxFlags) limit() float64 {
	if l.bandwidth > 0 {
		return l.bandwidth
	}
	return l.fqRate
}

// lineUp gives a receiver a thread for each port, a sender -n of them.
func (l *linuxFlags) lineUp() []ntttcp.Thread {
	var all []ntttcp.Thread
	for port := range l.ports {
		thread := ntttcp.Thread{Host: l.host, Port: l.port + port, CPU: l.cpu, Connections: l.conns}
		if !l.send {
			all = append(all, thread)
			continue
		}
		if thread.Host == "" {
			thread.Host = l.ownHost()
		}
		for n := range l.threads {
			if l.sourcePort > 0 {
				thread.LocalPort = l.sourcePort + (port*l.threads+n)*l.conns
			}
			all = append(all, thread)
		}
	}
	return all
}

// ownHost is where a sender without an address sends to: the tool takes 0.0.0.0,
// which on Linux is the machine itself.
func (l *linuxFlags) ownHost() string {
	if l.v6 {
		return "::1"
	}
	return "127.0.0.1"
}

// notes say what flags come to here.
func (l *linuxFlags) notes() []string {
	var all []string
	note := func(when bool, format string, values ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, values...))
		}
	}
	note(l.epoll && !l.send, "-e: sockets are never waited for with select here")
	note(l.epoll && l.send, "-e is the receiver's; ignored, as in the tool")
	note(l.hold && l.send, "-H is the receiver's; ignored, as in the tool")
	note(!l.send && l.sourcePort > 0, "-f is the sender's; ignored, as in the tool")
	note(!l.send && l.limit() > 0, "-B and --fq-rate-limit are the sender's; ignored, as in the tool")
	note(l.bandwidth > 0 && l.fqRate > 0, "--fq-rate-limit is ignored, as -B is given")
	note(l.send && l.host == "", "no address with -s: sending to this machine itself")
	note(l.udp && l.messageLength() > ntttcp.MaxDatagram, "a UDP datagram has at most %d bytes: that many instead of %d", ntttcp.MaxDatagram, l.messageLength())
	note(l.send && !l.udp && l.ports*l.threads > runtime.NumCPU(), "%d threads of the tool: their connections are served by %d hot threads, one for each CPU", l.ports*l.threads, runtime.NumCPU())
	return all
}
