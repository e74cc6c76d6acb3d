package command

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/ntttcp"
)

// check refuses what NTttcp for Windows refuses (VerifyArgs in ntttcp.c), and
// what no engine could do.
func (w *windowsFlags) check() error {
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{w.send == w.receive, "either -s or -r says which end this is"},
		{!w.mapped || len(w.mappings) == 0, "-m is missing: -m 1,*,ADDRESS with the receiver's address"},
		{w.threads() > maxThreads, fmt.Sprintf("-m: more than %d threads in all", maxThreads)},
		{w.wsa && !w.async, "-w needs -a"},
		{w.waitAll && w.async && !w.wsa, "-wa with -a needs -w"},
		{w.nic != "" && !w.send, "-nic is the sender's"},
		{w.kilobytes > 0 && !w.send, "-thr is the sender's"},
		{w.spacing > 0 && !w.send, "-ps is the sender's"},
		{w.spacing > 0 && w.threads() > 1, "-ps takes one thread"},
		{w.spacing > 0 && w.async, "-ps does not go with -a"},
		{w.spacing > 0 && w.kilobytes > 0, "-ps does not go with -thr"},
		{w.uso > 0 && (!w.send || !w.udp), "-uso needs -s and -u"},
		{w.uro && (w.send || !w.udp), "-uro needs -r and -u"},
		{w.unconnected && !w.udp, "-uc needs -u"},
		{w.unconnected && w.async, "-uc does not go with -a"},
		{w.async && w.outstanding > windowsMostIO && w.activeThreads < 0, "-a takes at most 63 without -icp"},
		{w.sample > 0 && w.runSeconds == 0, "-sam needs -t"},
		{w.sample > 0 && w.xml == "", "-sam needs -xml, where the tool writes its samples"},
		{w.sharePort && w.udp && w.noSync, "-sp needs the receiver to be ready: leave -ns away"},
		{w.uso > 0 && w.bufferLength()%w.uso != 0, fmt.Sprintf("-uso %d cuts -l %d into datagrams that are not alike, which Windtunnel does not send: take %s", w.uso, w.bufferLength(), w.wholeCuts())},
		{w.udp && w.uso == 0 && w.bufferLength() > ntttcp.MaxDatagram, "a UDP datagram has at most 65507 bytes: use a smaller -l, or cut it with -uso"},
	} {
		if rule.broken {
			return fmt.Errorf("%s", rule.says)
		}
	}
	for _, m := range w.mappings {
		if err := hostFits(m.host, w.v6); err != nil {
			return fmt.Errorf("-m: %w", err)
		}
	}
	if err := familyFits(w.nic, w.v6); err != nil {
		return fmt.Errorf("-nic: %w", err)
	}
	return nil
}

// wholeCuts names the nearest buffers that -uso cuts into equal datagrams.
func (w *windowsFlags) wholeCuts() string {
	cuts := w.bufferLength() / max(1, w.uso)
	if cuts == 0 {
		return fmt.Sprintf("-l %d", w.uso)
	}
	return fmt.Sprintf("-l %d or %d", cuts*w.uso, (cuts+1)*w.uso)
}

func (w *windowsFlags) threads() int {
	n := 0
	for _, m := range w.mappings {
		n += m.threads
	}
	return n
}

// bufferLength is -l, or its default.
func (w *windowsFlags) bufferLength() int {
	switch {
	case w.length > 0:
		return w.length
	case w.udp:
		return windowsDatagram
	}
	return windowsBuffer
}

// bufferCount is -n, its default, or 0 where the time bounds the test.
func (w *windowsFlags) bufferCount() int {
	if w.runSeconds > 0 {
		return 0
	}
	if w.buffers > 0 {
		return w.buffers
	}
	return windowsBuffers
}

// test is the command line as a Test.
func (w *windowsFlags) test() ntttcp.Test {
	t := ntttcp.Test{
		Role: traffic.Receive, Sync: ntttcp.SyncWindows, Exact: true,
		UDP: w.udp, IPv6: w.v6, LocalHost: w.nic,
		Message: w.bufferLength(), Datagram: w.uso, Coalesce: w.uro,
		SendBuffer: w.modelledSendBuffer(), ReceiveBuffer: w.receiveBuffer, NoDelay: w.noDelay,
		Messages: uint64(w.bufferCount()), SharePort: w.sharePort,
		Sample: seconds(w.sample), Wait: time.Duration(w.waitMillis) * time.Millisecond,
		BitsPerSecond: w.bitsPerSecond(),
	}
	if w.send {
		t.Role = traffic.Send
	}
	if w.noSync {
		t.Sync = ntttcp.SyncNone
	}
	if w.waitMillis == 0 {
		t.Wait = endless
	}
	if w.activeThreads > 0 {
		t.HotThreads = w.activeThreads
	}
	t.Run = seconds(w.longestSeconds)
	if w.runSeconds > 0 {
		t.WarmUp, t.Run, t.CoolDown = seconds(w.warmUp), seconds(w.runSeconds), seconds(w.coolDown)
	}
	t.Threads = w.lineUp()
	return t
}

// endless is a wait that nobody lives to see the end of.
const endless = 10 * 365 * 24 * time.Hour

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// lineUp gives every thread its port: one after the other over all mappings. With
// -sp a sender asks for them all on the first.
func (w *windowsFlags) lineUp() []ntttcp.Thread {
	var all []ntttcp.Thread
	port := w.port
	for _, m := range w.mappings {
		for range m.threads {
			all = append(all, ntttcp.Thread{Host: m.host, Port: port, CPU: m.cpu, Connections: 1})
			if !w.sharePort || !w.send {
				port++
			}
		}
	}
	return all
}

const maxThreads = 1 << 14

// hostFits refuses a receiver that would be looked up as a name and is none, and what familyFits does.
func hostFits(host string, v6 bool) error {
	if bare, port, err := net.SplitHostPort(host); err == nil {
		return fmt.Errorf("%s has a port in it; write %s and -p %s", host, bare, port)
	}
	if bare := strings.Trim(host, "[]"); bare != host {
		return fmt.Errorf("%s: write %s without brackets", host, bare)
	}
	return familyFits(host, v6)
}

// familyFits refuses an address of the other IP version; names are looked up in
// the right one.
func familyFits(host string, v6 bool) error {
	at, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return nil
	case at.Is4() && v6:
		return fmt.Errorf("%s is an IPv4 address; leave -6 away", host)
	case !at.Is4() && !v6:
		return fmt.Errorf("%s is an IPv6 address; add -6", host)
	}
	return nil
}

// modelledSendBuffer is SO_SNDBUF. NTttcp with -a N keeps N buffers with the
// system and sets Winsock's own buffer to 0, so that at most N buffers are on
// their way. A send buffer of that many bytes bounds the same here.
func (w *windowsFlags) modelledSendBuffer() int {
	if w.sendBufferGiven || !w.async || !w.send || w.udp || !w.outstandingGiven {
		return w.sendBuffer
	}
	return min(w.outstanding*w.bufferLength(), maxSocketBuffer)
}

const maxSocketBuffer = 1 << 30

// shownSendBuffer is what the tool itself prints: -a N sets 0.
func (w *windowsFlags) shownSendBuffer() int {
	if !w.sendBufferGiven && w.outstandingGiven {
		return 0
	}
	return w.sendBuffer
}

// bitsPerSecond is of each thread's one connection, from -thr or -ps.
func (w *windowsFlags) bitsPerSecond() float64 {
	switch {
	case w.kilobytes > 0:
		return float64(w.kilobytes) * (1 << 10) * 8
	case w.spacing > 0:
		return float64(w.bufferLength()) * 8 * 1000 / float64(w.spacing)
	}
	return 0
}

// notes say what flags come to that are Windows' own.
func (w *windowsFlags) notes() []string {
	var all []string
	note := func(when bool, format string, values ...any) {
		if when {
			all = append(all, fmt.Sprintf(format, values...))
		}
	}
	if w.send && w.modelledSendBuffer() != w.sendBuffer {
		note(true, "-a %d: modelled by a send buffer of %d x %d bytes, which bounds what is on its way as %d overlapped sends with Winsock's buffer at 0 do; each call waits for room",
			w.outstanding, w.outstanding, w.bufferLength(), w.outstanding)
	} else {
		note(w.async && w.send, "-a: calls are made one after the other; the socket's send buffer takes the place of the outstanding ones")
	}
	note(w.async && w.receive, "-a %d: receives are made one after the other; the socket's receive buffer (-rb) takes the place of those that Windows would have outstanding", w.outstanding)
	note(w.wsa, "-w: there is one way to send and to receive here; it changes nothing")
	note(w.waitAll, "-wa: a receive returns what has come; Avg B / Compl shows how much that was")
	note(w.unconnected, "-uc: datagrams leave by connected sockets; on the wire it is the same")
	note(w.uro, "-uro: 0 stands for Errors, which are not known: the system counts datagrams that were joined as one")
	note(w.unbuffered, "-nsb: output is never held back here")
	note(w.cpuFromIdle, "-cfi: CPU use always comes from the idle time here")
	note(!w.udp && w.send && w.sendBuffer == 0 && w.sendBufferGiven, "-sb 0: systems other than Windows cannot send without a buffer and take their smallest")
	note(!w.udp && w.receiveBuffer == 0, "-rb 0: systems other than Windows cannot receive without a buffer and take their smallest, which makes this slow")
	note(w.runSeconds == 0 && w.warmUp+w.coolDown > 0, "-wu and -cd: there is neither warm-up nor cool-down without -t, as in the tool")
	return all
}
