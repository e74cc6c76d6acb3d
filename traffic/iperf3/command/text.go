package command

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"windtunnel/traffic/iperf3"
)

// version is what this program calls itself in iperf3's output: scripts take
// the second word for the version whose output they read.
const version = "iperf " + iperf3.Version + " (windtunnel)"

// rfc1123 is how iperf3 writes when a test began.
const rfc1123 = "Mon, 02 Jan 2006 15:04:05 GMT"

// longestTranscript bounds what a server keeps of its text for a client.
const longestTranscript = 4 << 20

// text is an Observer that shows one test as iperf3's text.
type text struct {
	screen *screen
	output output
	mark   func() string // stands before each line where a server has several clients
	start  iperf3.Start
	headed bool
	kept   *strings.Builder // for a client that asked for it
}

func newText(screen *screen, o output, mark func() string) *text {
	return &text{screen: screen, output: o, mark: mark}
}

func (t *text) printf(format string, args ...any) {
	piece := t.screen.print(t.mark(), fmt.Sprintf(format, args...))
	if t.kept != nil && t.kept.Len()+len(piece) <= longestTranscript {
		t.kept.WriteString(piece)
	}
}

// Connected shows who is connected with whom, and with -V what is asked for.
func (t *text) Connected(s iperf3.Start) {
	if s.Server && s.Test.GetServerOutput {
		t.kept = &strings.Builder{}
	}
	if s.Server {
		t.asked(s)
	}
	t.start = s
	for _, c := range s.Connections {
		t.printf("[%3d] local %s port %d connected to %s port %d\n", c.Socket, ip(c.Local), c.Local.Port(), ip(c.Remote), c.Remote.Port())
	}
	if t.output.verbose {
		t.printf("%s", startingTest(s.Test))
	}
}

// asked shows who asks whom: a client's server may still refuse, or its streams take a while.
func (t *text) asked(s iperf3.Start) {
	t.start = s
	t.screen.warnOfFragments(s)
	if t.output.verbose {
		t.beforePeer()
	}
	if s.Server {
		t.printf("Accepted connection from %s, port %d\n", s.Host, s.Port)
	} else {
		t.printf("Connecting to host %s, port %d\n", s.Host, s.Port)
		if s.Test.Reverse {
			t.printf("Reverse mode, remote host %s is sending\n", s.Host)
		}
	}
	if t.output.verbose {
		t.afterPeer()
	}
}

func (t *text) beforePeer() {
	if s := t.start; !s.Server {
		t.printf("Control connection MSS %d\n", s.ControlMSS)
		if s.Test.Protocol == iperf3.UDP && !t.output.sized { // iperf3 says it of what it chose itself
			t.printf("Setting UDP block size to %d\n", s.Test.Length)
		}
	}
	t.printf("Time: %s\n", t.start.Time.UTC().Format(rfc1123))
}

func (t *text) afterPeer() {
	s := t.start
	t.printf("      Cookie: %s\n", s.Cookie)
	switch {
	case s.Test.Protocol == iperf3.UDP:
	case s.Test.MSS > 0:
		t.printf("      TCP MSS: %d\n", s.Test.MSS)
	default:
		t.printf("      TCP MSS: %d (default)\n", s.ControlMSS)
	}
	if s.Test.BitsPerSecond > 0 {
		t.printf("      Target Bitrate: %.0f\n", s.Test.BitsPerSecond)
	}
}

func startingTest(t iperf3.Test) string {
	ends := fmt.Sprintf("%.0f second test", t.Duration.Seconds())
	switch {
	case t.Bytes > 0:
		ends = fmt.Sprintf("%d bytes to send", t.Bytes)
	case t.Blocks > 0:
		ends = fmt.Sprintf("%d blocks to send", t.Blocks)
	}
	return fmt.Sprintf("Starting Test: protocol: %s, %d streams, %d byte blocks, omitting %.0f seconds, %s, tos %d\n",
		protocolName(t.Protocol), t.Parallel, t.Length, t.Omit.Seconds(), ends, t.TOS)
}

func protocolName(p iperf3.Protocol) string {
	if p == "" {
		p = iperf3.TCP
	}
	return strings.ToUpper(string(p))
}

// ip writes an address without port; IPv4 in IPv6 is IPv4.
func ip(a netip.AddrPort) string { return a.Addr().Unmap().WithZone("").String() }

// roleMark tells the directions of a bidirectional test apart.
func (t *text) roleMark(sends bool) string {
	if !t.start.Test.Bidirectional {
		return ""
	}
	way, side := "RX", "C"
	if sends {
		way = "TX"
	}
	if t.start.Server {
		side = "S"
	}
	return "[" + way + "-" + side + "]"
}

func (t *text) row(id string, sends bool, start, end float64, bytes uint64, rate float64) row {
	return row{id: id, role: t.roleMark(sends), start: start, end: end, bytes: bytes, rate: rate, format: t.output.format}
}

func socketID(socket int) string { return strconv.Itoa(socket) }

// Failed has nothing to show here: whoever runs the test says why it failed.
func (t *text) Failed(error) {}

// Transcript is what a server printed, for a client that asked.
func (t *text) Transcript() (string, json.RawMessage) {
	if t.kept == nil {
		return "", nil
	}
	return t.kept.String(), nil
}
