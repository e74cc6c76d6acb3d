package command

import (
	"fmt"
	"strings"
	"time"

	"windtunnel/traffic/iperf3"
)

// bothFlags are those of either end.
func bothFlags() []*flag {
	return []*flag{
		{long: "port", short: 'p', takes: "N", says: "the server's port (5201)", set: setPort},
		{long: "interval", short: 'i', takes: "SECONDS", says: "between reports (1; 0: none)",
			set: func(s *settings, v string) (err error) { s.interval, err = interval(v); return err }},
		{long: "pidfile", short: 'I', takes: "FILE", says: "keep the process's number there while it runs",
			set: func(s *settings, v string) error { s.pidfile = v; return nil }},
		{long: "affinity", short: 'A', takes: "N[,M]", says: "pin the traffic's threads to CPU N; a client asks the server for CPU M", set: setAffinity},
		{long: "bind", short: 'B', takes: "HOST[%DEV]", says: "use this local address, and this device",
			set: func(s *settings, v string) error {
				host, device := hostDevice(v)
				if s.bind = host; device != "" {
					s.device = device
				}
				return nil
			}},
		{long: "bind-dev", takes: "DEV", says: "use this device only (SO_BINDTODEVICE)",
			set: func(s *settings, v string) error { s.device = v; return nil }},
		{long: "version4", short: '4', says: "IPv4 only", set: func(s *settings, _ string) error { s.family = 4; return nil }},
		{long: "version6", short: '6', says: "IPv6 only", set: func(s *settings, _ string) error { s.family = 6; return nil }},
		{long: "rcv-timeout", takes: "MS", says: "give up after so long without a byte where this end receives (120000)", set: setReceiveTimeout},
		{long: "snd-timeout", takes: "MS", says: "give up after so long with unacknowledged TCP data (the system's)", set: setSendTimeout},
		{long: "cntl-ka", takes: "IDLE/INTERVAL/COUNT", optional: true, says: "keepalives on the control connection; each number may be left out", set: setKeepAlive},
		{long: "mptcp", short: 'm', says: "Multipath TCP",
			set: func(s *settings, _ string) error { s.client.MultipathTCP = true; return nil }},
		{long: "use-pkcs1-padding", says: "the padding of iperf3 before 3.17, in authentication",
			set: func(s *settings, _ string) error {
				s.client.PKCS1Padding, s.server.PKCS1Padding = true, true
				return nil
			}},
		{long: "version", short: 'v', says: "say the version and end", set: func(s *settings, _ string) error { s.version = true; return nil }},
		{long: "help", short: 'h', says: "say this and end", set: func(s *settings, _ string) error { s.help = true; return nil }},
	}
}

const highestPort = 65535

func setPort(s *settings, value string) (err error) {
	s.port, err = between(value, 1, highestPort, "")
	return err
}

func setAffinity(s *settings, value string) (err error) {
	const highest = 1024
	own, remote, both := strings.Cut(value, ",")
	if s.cpu, err = integer(own, 0, highest); err != nil || !both {
		return err
	}
	cpu, err := between(remote, 0, highest, "")
	s.client.ServerAffinity = cpu + 1
	return err
}

// shortestTimeout is the least that iperf3 takes.
const shortestTimeout = 100 * time.Millisecond

func setReceiveTimeout(s *settings, value string) (err error) {
	s.receiveTimeout, err = milliseconds(value, shortestTimeout, iperf3.MaxDuration)
	return err
}

func setSendTimeout(s *settings, value string) (err error) {
	s.sendTimeout, err = milliseconds(value, 0, iperf3.MaxDuration)
	return err
}

func setKeepAlive(s *settings, value string) error {
	s.keepAlive.On = true
	parts := strings.Split(value, "/")
	if len(parts) > 3 {
		return fmt.Errorf("'%s' has more than IDLE/INTERVAL/COUNT", value)
	}
	const highest = 32767 // of the kernel: MAX_TCP_KEEPIDLE in include/net/tcp.h
	var numbers [3]int
	for i, part := range parts {
		if part == "" {
			continue
		}
		n, err := between(part, 1, highest, "")
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	k := &s.keepAlive
	k.Idle, k.Interval, k.Count = time.Duration(numbers[0])*time.Second, time.Duration(numbers[1])*time.Second, numbers[2]
	if k.Idle > 0 && k.Idle <= k.Interval*time.Duration(k.Count) {
		return fmt.Errorf("control connection Keepalive period should be larger than the full retry period (interval * count): %d <= %d*%d", numbers[0], numbers[1], numbers[2])
	}
	return nil
}
