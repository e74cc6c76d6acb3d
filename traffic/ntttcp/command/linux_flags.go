package command

import (
	"fmt"
	"strings"

	"windtunnel/traffic/ntttcp"
)

// Defaults of ntttcp-for-linux (const.h).
const (
	linuxPorts         = 16
	linuxThreads       = 4
	linuxReceiveBuffer = 64 << 10
	linuxSendBuffer    = 128 << 10
	linuxSeconds       = 60
	linuxSourcePort    = 25001
	linuxLog           = "ntttcp-for-linux-log"
)

// linuxFlags is a command line of ntttcp-for-linux.
type linuxFlags struct {
	send, receive bool
	host          string // "": not given
	cpu           int    // -1: any

	many, last, epoll, hold bool
	ports, threads, conns   int
	local                   string
	v6, udp                 bool
	port, sourcePort        int // sourcePort 0: the system's choice
	buffer                  int // 0: the role's default
	bandwidth, fqRate       float64
	warmUp, run, coolDown   int // s
	noSync, noDelay         bool

	showRetransmits       bool
	nic, device           string
	console, xml, json    string // files; "": not written
	quiet, verbose, usage bool
}

func newLinuxFlags() *linuxFlags {
	return &linuxFlags{
		cpu: -1, ports: linuxPorts, threads: linuxThreads, conns: 1,
		port: ntttcp.DefaultPort, run: linuxSeconds,
	}
}

// table is every flag of the tool, those that are not offered too.
func (l *linuxFlags) table() []flag {
	return append(l.shape(), append(l.timing(), l.output()...)...)
}

func (l *linuxFlags) shape() []flag {
	return []flag{
		{"-r", option, "be the receiver, at this address", l.role(&l.receive)},
		{"-s", option, "be the sender, to this address", l.role(&l.send)},
		{"-m", value, "N,CPU,ADDR: N ports, a thread each, on that CPU (* any), at ADDR", l.addMapping},
		{"-P", value, "ports of the receiver (16)", count(&l.ports, 1)},
		{"-n", value, "sender: threads for each port (4)", count(&l.threads, 1)},
		{"-l", value, "sender: connections of each thread (1)", count(&l.conns, 1)},
		{"-a", value, "sender: its own address", keep(&l.local)},
		{"-f", option, "sender: first source port (25001)", l.setSourcePort},
		{"-p", value, "first data port (5001); the sync port is the one below", count(&l.port, 2)},
		{"-6", alone, "IPv6", raise(&l.v6)},
		{"-u", alone, "UDP", raise(&l.udp)},
		{"-b", value, "buffer, bytes, with K M G of 1024 (sender 128K, receiver 64K)", l.setBuffer},
		{"-B", value, "sender: limit over all, bits/s, with K M G of 1000", l.rate(&l.bandwidth)},
		{"--fq-rate-limit", value, "sender: the same, each connection its share", l.rate(&l.fqRate)},
		{"--no-delay", alone, "TCP_NODELAY", raise(&l.noDelay)},
		{"-M", alone, "receiver: wait for several senders", raise(&l.many)},
		{"-L", alone, "sender: the last one that a receiver with -M waits for", raise(&l.last)},
		{"-N", alone, "no synchronisation", raise(&l.noSync)},
		{"-H", alone, "receiver: stay for the next test", raise(&l.hold)},
		{"-e", alone, "", raise(&l.epoll)},
		{"-D", alone, "", func(string) error {
			return fmt.Errorf("not offered; put it into the background with & or a service of the system")
		}},
	}
}

func (l *linuxFlags) timing() []flag {
	return []flag{
		{"-W", value, "warm-up, seconds", count(&l.warmUp, 0)},
		{"-t", value, "test time, seconds (60); 0: until stopped", count(&l.run, 0)},
		{"-C", value, "cool-down, seconds", count(&l.coolDown, 0)},
	}
}

func (l *linuxFlags) output() []flag {
	return []flag{
		{"--show-tcp-retrans", alone, "show TCP's retransmission counters", raise(&l.showRetransmits)},
		{"--show-nic-packets", value, "show the packets of this interface", keep(&l.nic)},
		{"--show-dev-interrupts", value, "show the interrupts whose line in /proc/interrupts holds this", keep(&l.device)},
		{"-O", option, "write the log to a file, too", file(&l.console, ".log")},
		{"-x", option, "write XML to a file", file(&l.xml, ".xml")},
		{"-j", option, "write JSON to a file", file(&l.json, ".json")},
		{"-Q", alone, "no lines while it runs", raise(&l.quiet)},
		{"-V", alone, "say more", raise(&l.verbose)},
		{"-h", alone, "this help", raise(&l.usage)},
	}
}

func (l *linuxFlags) role(into *bool) func(string) error {
	return func(host string) error {
		*into = true
		if host != "" {
			l.host = host
		}
		return nil
	}
}

func file(into *string, ending string) func(string) error {
	return func(text string) error {
		*into = text
		if text == "" {
			*into = linuxLog + ending
		}
		return nil
	}
}

func (l *linuxFlags) setSourcePort(text string) error {
	if text == "" {
		l.sourcePort = linuxSourcePort
		return nil
	}
	return count(&l.sourcePort, 1)(text)
}

func (l *linuxFlags) setBuffer(text string) error {
	n, err := scaled(text, 1024)
	if err == nil && (n < 1 || n > ntttcp.MaxMessage) {
		err = fmt.Errorf("a buffer has 1 to %d bytes", ntttcp.MaxMessage)
	}
	l.buffer = int(n)
	return err
}

func (l *linuxFlags) rate(into *float64) func(string) error {
	return func(text string) (err error) {
		*into, err = scaled(text, 1000)
		return err
	}
}

// addMapping takes Windows' 3-tuple: ports, CPU, address, of which this tool
// needs only the first. It sets one thread for each port.
func (l *linuxFlags) addMapping(text string) error {
	if strings.Count(text, ",") < 2 {
		text += strings.Repeat(",*", 2-strings.Count(text, ","))
	}
	m, err := parseMapping(text)
	if err != nil {
		return err
	}
	l.ports, l.threads, l.cpu = m.threads, 1, m.cpu
	if m.host != "*" {
		l.host = m.host
	}
	return nil
}

// parseLinux reads a command line as getopt_long does: letters may stand in one
// word, and a value right behind its letter. What getopt would leave over is an
// error.
func parseLinux(args []string) (*linuxFlags, error) {
	l := newLinuxFlags()
	flags := l.table()
	for len(args) > 0 {
		head := args[0]
		args = args[1:]
		var err error
		switch {
		case strings.HasPrefix(head, "--") && len(head) > 2:
			args, err = parseLong(flags, head, args)
		case strings.HasPrefix(head, "-") && len(head) > 1:
			args, err = parseLetters(flags, head[1:], args)
		default:
			err = fmt.Errorf("%q belongs to no flag of ntttcp-for-linux", head)
		}
		if err != nil {
			return nil, err
		}
	}
	return l, l.check()
}

func parseLong(flags []flag, head string, args []string) (rest []string, err error) {
	name, attached, joined := strings.Cut(head, "=")
	f, ok := find(flags, name)
	if !ok {
		return nil, fmt.Errorf("%q is no flag of ntttcp-for-linux", name)
	}
	this := word{flag: f}
	switch {
	case joined && f.takes == alone:
		return nil, fmt.Errorf("%s takes no value", name)
	case joined:
		this.values = []string{attached}
	default:
		this.values, args = valuesOf(f.takes, args)
	}
	return args, this.complete()
}

func parseLetters(flags []flag, letters string, args []string) (rest []string, err error) {
	for letters != "" {
		f, ok := find(flags, "-"+letters[:1])
		if !ok {
			return nil, fmt.Errorf("%q is no flag of ntttcp-for-linux", "-"+letters[:1])
		}
		letters = letters[1:]
		this := word{flag: f}
		switch {
		case f.takes == alone:
		case letters != "":
			this.values, letters = []string{letters}, ""
		default:
			this.values, args = valuesOf(f.takes, args)
		}
		if err := this.complete(); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// complete applies a flag that has what it needs.
func (w word) complete() error {
	if w.flag.takes == value && len(w.values) == 0 {
		return fmt.Errorf("%s needs a value", w.flag.name)
	}
	return w.apply()
}
