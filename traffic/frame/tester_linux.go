package frame

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// testerPatience bounds an answer; a probe takes the tester half a second at most.
const testerPatience = 3 * time.Second

// tester is a connection to the process that holds a port of poll mode (dpdk/request.h has what it
// can be asked for). What it begins there ends with it.
type tester struct {
	port  string
	ended chan struct{} // closed when it has failed
	end   sync.Once

	mu      sync.Mutex
	conn    net.Conn
	answers *bufio.Reader
	failed  error // the first
}

func dialTester(p traffic.Port) (*tester, error) {
	conn, err := net.DialTimeout("unix", p.Tester, testerPatience)
	if err != nil {
		return nil, fmt.Errorf("reaching the tester of the port %s: %w", p.Name, err)
	}
	return &tester{port: p.Name, ended: make(chan struct{}), conn: conn, answers: bufio.NewReader(conn)}, nil
}

// ask sends a request about the port, and returns the numbers of its answer.
func (t *tester) ask(request string, about ...any) ([]uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil { // what it says now may answer what it was asked before
		return nil, t.failed
	}
	numbers, err := t.exchange(request, append([]any{request, t.port}, about...))
	if err != nil && t.failed == nil {
		t.failed = err
		t.end.Do(func() { close(t.ended) })
	}
	return numbers, err
}

// tunnel tells of the outer header that the session's frames wear.
func (t *tester) tunnel(request string, o *outer) error {
	_, err := t.ask(request, flag(o.ipv6), flag(o.udp), o.ipSum(), hex.EncodeToString(o.prefix), hex.EncodeToString(o.mask()))
	return err
}

func (t *tester) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *tester) exchange(request string, words []any) ([]uint64, error) {
	_ = t.conn.SetDeadline(time.Now().Add(testerPatience)) // else the next call tells
	if _, err := fmt.Fprintln(t.conn, words...); err != nil {
		return nil, fmt.Errorf("asking the tester of the port %s: %w", t.port, err)
	}
	line, err := t.answers.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the tester of the port %s went away: %w", t.port, err)
	}
	return t.read(request, strings.Fields(line))
}

func (t *tester) read(request string, words []string) ([]uint64, error) {
	if len(words) == 0 || words[0] != "ok" {
		return nil, fmt.Errorf("the tester of the port %s refuses %s: %s", t.port, request, strings.TrimPrefix(strings.Join(words, " "), "error "))
	}
	numbers := make([]uint64, len(words)-1)
	for i, word := range words[1:] {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the tester of the port %s answers %s with %q, which is no number", t.port, request, word)
		}
		numbers[i] = n
	}
	return numbers, nil
}

func (t *tester) close() error { return t.conn.Close() }

// clockNumbers begin the answers that have a clock.
const clockNumbers = 5

var errShort = errors.New("the tester's answer is shorter than it should be: is it of another version?")

// readClock is the instant, and the core's cycles, of an answer of so many numbers at least.
func readClock(numbers []uint64, least int) (at time.Time, c result.Cycles, err error) {
	if len(numbers) < clockNumbers+least {
		return at, c, errShort
	}
	c = result.Cycles{Hertz: numbers[1], Sending: numbers[2], Receiving: numbers[3], Idle: numbers[4]}
	return time.Unix(0, int64(numbers[0])), c, nil
}

// checkPort refuses what a port cannot do. One that is an interface has the ways of an interface, but
// for a sink behind which frames would go on to the stack.
func (l load) checkPort(p traffic.Port) (netip.Addr, error) {
	ip, err := netip.ParseAddr(p.Address)
	switch {
	case err != nil:
		return ip, fmt.Errorf("the port %s has no IP: %w", p.Name, err)
	case p.Device != "" && l.sink == byPacket:
		return ip, fmt.Errorf("the port %s is an interface at which nobody else may see the frames: set sink to %s, %s or %s", p.Name, auto, byXDP, byTC)
	case p.Device != "":
	case l.method != auto || l.sink != auto:
		return ip, fmt.Errorf("the port %s is of poll mode, where frames have one way only: leave method and sink at %s", p.Name, auto)
	case l.threads != 1:
		return ip, fmt.Errorf("the port %s is of poll mode, where one core sends: leave threads at 1", p.Name)
	}
	return ip, fits(l.sizes, ip.Is6(), p.MTU)
}

// portMACs are the port's own address and the one that its frames are for.
func portMACs(p traffic.Port) (own, hop [6]byte, err error) {
	for text, into := range map[string]*[6]byte{p.MAC: &own, p.NextHop: &hop} {
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != len(into) {
			return own, hop, fmt.Errorf("the port %s has the Ethernet address %q, which is none", p.Name, text)
		}
		copy(into[:], mac)
	}
	return own, hop, nil
}

// expectedOuter is what frames wear that come to a port with a tunnel.
func expectedOuter(p traffic.Port, ipv6 bool) (*outer, error) {
	own, hop, err := portMACs(p)
	if err != nil {
		return nil, err
	}
	back := *p.Tunnel
	back.From, back.To = back.To, back.From
	return wearing(back, hop, own, back.Receives, ipv6)
}

// portDevice is a port of poll mode as results name it.
func portDevice(p traffic.Port) device { return device{name: p.Name, kind: "vhost-user", mtu: p.MTU} }
