package command

import (
	"fmt"
	"strings"

	"windtunnel/traffic/ntttcp"
)

// Defaults and bounds of NTttcp for Windows (ntttcp.c).
const (
	windowsBuffer   = 64 << 10
	windowsDatagram = 128
	windowsBuffers  = 20 << 10
	windowsIO       = 2
	windowsLongestN = 3 * 60 * 60 // s: the bound of a test with -n and no -t
	windowsMostIO   = 63          // MAXIMUM_WAIT_OBJECTS less one
	windowsWait     = 600000      // ms
	leastSpacing    = 5           // ms
	greatestSpacing = 1000        // ms
)

// mapping is one -m: threads, CPU (-1: any), and the receiver's address.
type mapping struct {
	threads, cpu int
	host         string
}

// windowsFlags is a command line of NTttcp for Windows.
type windowsFlags struct {
	send, receive bool
	mappings      []mapping
	mapped        bool

	length, buffers  int // 0: not given
	port             int
	sharePort        bool
	noSync           bool
	waitMillis       int
	async            bool
	outstanding      int
	outstandingGiven bool
	receiveBuffer    int // -1: not given
	sendBuffer       int // -1: not given
	sendBufferGiven  bool
	noDelay          bool
	udp              bool
	wsa              bool
	runSeconds       int // 0: not given
	longestSeconds   int // of a test with -n
	coolDown         int // s
	warmUp           int // s
	verbose          bool
	v6               bool
	waitAll          bool
	nic              string
	xml              string // the file; "": text
	hideThreads      bool
	uso              int
	uro              bool
	unconnected      bool
	unbuffered       bool
	kilobytes        int // per second and thread, 0: no bound
	activeThreads    int // -1: not given
	cpuFromIdle      bool
	sample           int // s
	spacing          int // ms
}

func newWindowsFlags() *windowsFlags {
	return &windowsFlags{
		port: ntttcp.DefaultPort, waitMillis: windowsWait, outstanding: windowsIO,
		receiveBuffer: -1, sendBuffer: -1, activeThreads: -1, longestSeconds: windowsLongestN,
	}
}

// table is every flag of the tool. What is not offered is here, too, so that it
// is refused by name.
func (w *windowsFlags) table() []flag {
	return append(w.offered(), append(w.tuning(), w.notOffered()...)...)
}

func (w *windowsFlags) offered() []flag {
	return []flag{
		{"-s", alone, "be the sender", raise(&w.send)},
		{"-r", alone, "be the receiver", raise(&w.receive)},
		{"-m", list, "N,CPU,ADDR: N threads on that CPU (* any) to or at ADDR, the receiver's address; several may follow", w.addMapping},
		{"-l", value, "length of a buffer, bytes (64k; UDP: 128)", size(&w.length, 1)},
		{"-n", value, "buffers of each thread (20k); k and m are 2^10 and 2^20", w.setBuffers},
		{"-t", value, "seconds; with -n before it the longest time", w.setTime},
		{"-wu", value, "warm-up, seconds", count(&w.warmUp, 0)},
		{"-cd", value, "cool-down, seconds", count(&w.coolDown, 0)},
		{"-p", value, "first port (5001)", count(&w.port, 1)},
		{"-sp", alone, "data ports are handed out on the first port", raise(&w.sharePort)},
		{"-ns", alone, "no synchronisation (on both ends)", raise(&w.noSync)},
		{"-to", value, "longest wait for the other end to come, milliseconds; 0: for ever", count(&w.waitMillis, 0)},
		{"-a", option, "outstanding I/O (2): see the note that it prints", w.setAsync},
		{"-rb", value, "receive buffer, bytes (SO_RCVBUF)", buffer(&w.receiveBuffer)},
		{"-sb", value, "send buffer, bytes (SO_SNDBUF)", w.setSendBuffer},
		{"-ndl", alone, "TCP_NODELAY", raise(&w.noDelay)},
		{"-u", alone, "UDP", raise(&w.udp)},
		{"-uso", value, "UDP: cut a buffer into datagrams of so many bytes", count(&w.uso, 1)},
		{"-uro", alone, "UDP: take several datagrams in a call", raise(&w.uro)},
		{"-6", alone, "IPv6", raise(&w.v6)},
		{"-nic", value, "the sender's own address", keep(&w.nic)},
		{"-thr", value, "KiB/s of each sender thread", count(&w.kilobytes, 1)},
		{"-ps", value, "one buffer every so many milliseconds, 5 to 1000", w.setSpacing},
		{"-icp", value, "hot threads; 0: as many as CPUs", count(&w.activeThreads, -maxNumber)},
		{"-sam", value, "with -t and -xml: results every so many seconds", count(&w.sample, 1)},
		{"-xml", option, "write XML to a file (xml.txt) instead of the table", w.setXML},
		{"-hpt", alone, "hide the threads' own lines", raise(&w.hideThreads)},
		{"-v", alone, "say more", raise(&w.verbose)},
	}
}

// tuning is what changes how Windows' calls are made; it is taken, and a note
// says what it comes to here.
func (w *windowsFlags) tuning() []flag {
	return []flag{
		{"-w", alone, "", raise(&w.wsa)},
		{"-wa", alone, "", raise(&w.waitAll)},
		{"-uc", alone, "", raise(&w.unconnected)},
		{"-nsb", alone, "", raise(&w.unbuffered)},
		{"-cfi", alone, "", raise(&w.cpuFromIdle)},
	}
}

func (w *windowsFlags) notOffered() []flag {
	no := func(name string, takes arity, instead string) flag {
		return flag{name, takes, "", func(string) error { return fmt.Errorf("not offered; %s", instead) }}
	}
	return []flag{
		no("-rt", alone, "for round trips use `windtunnel ping`"),
		no("-lm", alone, "for latencies use `windtunnel ping`, which measures them end to end"),
		no("-jm", option, "for jitter use `windtunnel send` and `recv` with UDP, which number their datagrams"),
		no("-d", alone, "payload is not compared; corrupted datagrams are counted by `windtunnel recv`"),
		no("-x", option, "TransmitPackets is a call of Windows alone; leave it away"),
		no("-hv", alone, "AF_HYPERV sockets are Windows' alone; use addresses"),
		no("-brn", value, "burn CPU with another program"),
		no("-es", alone, "use -v at a sender for the round-trip time, or a `windtunnel` suite for TCP's own counters"),
		no("-qos", value, "mark traffic with `windtunnel send --dscp`"),
		no("-na", value, "bind threads to CPUs: -m N,CPU,ADDR"),
	}
}

func (w *windowsFlags) setBuffers(text string) error {
	if w.runSeconds > 0 { // -t before -n bounds the time
		w.longestSeconds, w.runSeconds = w.runSeconds, 0
	}
	return size(&w.buffers, 1)(text)
}

func (w *windowsFlags) setTime(text string) error {
	if w.buffers > 0 {
		if err := size(&w.longestSeconds, 1)(text); err != nil || w.longestSeconds <= maxNumber {
			return err
		}
		return fmt.Errorf("%s seconds are more than %d, the most that is taken", text, maxNumber)
	}
	return count(&w.runSeconds, 1)(text)
}

func (w *windowsFlags) setSendBuffer(text string) error {
	w.sendBufferGiven = true
	return buffer(&w.sendBuffer)(text)
}

func (w *windowsFlags) setAsync(text string) error {
	w.async = true
	if text == "" {
		return nil
	}
	w.outstandingGiven = true
	return count(&w.outstanding, 1)(text)
}

func (w *windowsFlags) setSpacing(text string) error {
	if err := count(&w.spacing, leastSpacing)(text); err != nil {
		return err
	}
	if w.spacing > greatestSpacing {
		return fmt.Errorf("at most %d ms", greatestSpacing)
	}
	return nil
}

func (w *windowsFlags) setXML(text string) error {
	w.xml = text
	if text == "" {
		w.xml = "xml.txt"
	}
	return nil
}

func (w *windowsFlags) addMapping(text string) error {
	m, err := parseMapping(text)
	if err != nil {
		return err
	}
	if len(w.mappings) == ntttcp.MaxMappings {
		return fmt.Errorf("more than %d mappings", ntttcp.MaxMappings)
	}
	w.mappings = append(w.mappings, m)
	return nil
}

// parseMapping reads threads,CPU,address.
func parseMapping(text string) (mapping, error) {
	parts := strings.SplitN(text, ",", 3)
	if len(parts) < 3 || parts[2] == "" {
		return mapping{}, fmt.Errorf("a mapping is N,CPU,ADDRESS, as in 1,*,192.0.2.1")
	}
	m := mapping{cpu: -1, host: parts[2]}
	if bare, open := strings.CutPrefix(m.host, "["); open && strings.HasSuffix(bare, "]") {
		m.host = strings.TrimSuffix(bare, "]")
	}
	var err error
	if m.threads, err = number(parts[0], 1); err != nil {
		return m, err
	}
	if parts[1] != "*" {
		m.cpu, err = number(parts[1], 0)
	}
	return m, err
}

// parseWindows reads a command line as NTttcp for Windows does: flags without
// regard to case, each a word of its own.
func parseWindows(args []string) (*windowsFlags, error) {
	w := newWindowsFlags()
	flags := w.table()
	for len(args) > 0 {
		f, ok := find(flags, strings.ToLower(args[0]))
		if !ok {
			return nil, fmt.Errorf("%q is no flag of NTttcp for Windows", args[0])
		}
		this := word{flag: f}
		this.values, args = valuesOf(f.takes, args[1:])
		if f.takes == value && len(this.values) == 0 || f.takes == list && len(this.values) == 0 {
			return nil, fmt.Errorf("%s needs a value", f.name)
		}
		if f.name == "-m" {
			if w.mapped {
				return nil, fmt.Errorf("-m comes twice; put all mappings behind one: -m 1,*,A 2,*,B")
			}
			w.mapped = true
		}
		if err := this.apply(); err != nil {
			return nil, err
		}
	}
	return w, w.check()
}

// valuesOf takes what belongs to a flag from the words behind it.
func valuesOf(takes arity, args []string) (values, rest []string) {
	switch takes {
	case value:
		if len(args) > 0 {
			return args[:1], args[1:]
		}
	case option:
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			return args[:1], args[1:]
		}
	case list:
		n := 0
		for n < len(args) && !strings.HasPrefix(args[n], "-") {
			n++
		}
		return args[:n], args[n:]
	}
	return nil, args
}
