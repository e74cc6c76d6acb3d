package iperf3

import (
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic/lobby"
)

// greeter owns the server's UDP port. A client greets from the socket of each
// stream before it makes the next one, and the answer comes from a socket that is
// connected to it: from then on the system gives it that client's datagrams,
// because it takes the closest match of addresses.
//
// A greeting does not say whose it is. Sessions of one client's address are
// therefore let make their streams one after another; those of others do not wait
// for them. A session that makes none while others wait for it loses its turn.
//
// A client's datagrams may come from another address than its control connection
// (two ways out, NAT). A greeting of an address that has no turn is kept for a while:
// a session that waits in vain, and is the only one that waits, is given it, if the
// server only receives.
type greeter struct {
	conn   *net.UDPConn
	device string

	mu    sync.Mutex
	turns map[netip.Addr][]*turn // by the client's address, the first one's turn it is

	adopted   map[netip.Addr]*turn // other addresses of a session that has its turn
	strangers []stranger           // the last ones
}

// stranger is a greeting of an address that has no turn.
type stranger struct {
	from netip.AddrPort
	says [udpHelloSize]byte
	came time.Time
}

const (
	// adoptAfter is how long a session waits before it is given a stranger's greeting,
	// and again.
	adoptAfter = time.Second
	// mostStrangers bounds the greetings that are kept.
	mostStrangers = 64
)

// turn is a session that makes UDP streams, or waits until it may.
type turn struct {
	client  netip.Addr
	local   netip.Addr // where the client's control connection goes
	want    int
	options socketOptions
	begun   chan struct{} // closed when it is its turn
	came    chan *net.UDPConn
	failed  chan error // why no stream can be made
	peers   map[netip.AddrPort]bool
	pressed chan struct{} // closed when another one waits
	waited  bool
	since   time.Time // when its client was let make its streams
	files   lobby.Reserve
}

// hurriedTimeout replaces streamTimeout where another session of the same address waits.
const hurriedTimeout = 5 * time.Second

func newGreeter(conn *net.UDPConn, device string) *greeter {
	return &greeter{conn: conn, device: device, turns: map[netip.Addr][]*turn{}, adopted: map[netip.Addr]*turn{}}
}

// plain is an address as a key: IPv4 in its own form, without a zone.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func (g *greeter) enroll(control net.Conn, want int, o socketOptions) *turn {
	o.reuse = true
	t := &turn{
		client: plain(addressOf(control.RemoteAddr()).Addr()), local: addressOf(control.LocalAddr()).Addr(), want: want, options: o,
		begun: make(chan struct{}), came: make(chan *net.UDPConn, want), failed: make(chan error, 1), peers: map[netip.AddrPort]bool{}, pressed: make(chan struct{}),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := append(g.turns[t.client], t)
	g.turns[t.client] = queue
	if len(queue) == 1 {
		close(t.begun)
	} else {
		queue[0].press()
	}
	return t
}

func (t *turn) press() {
	if !t.waited {
		t.waited = true
		close(t.pressed)
	}
}

// leave ends a turn and begins the next one.
func (g *greeter) leave(t *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.turns[t.client]
	for i, other := range queue {
		if other != t {
			continue
		}
		queue = append(queue[:i:i], queue[i+1:]...)
		if i == 0 && len(queue) > 0 {
			close(queue[0].begun)
			if len(queue) > 1 {
				queue[0].press()
			}
		}
		break
	}
	t.files.Close()
	g.turns[t.client] = queue
	if len(queue) == 0 {
		delete(g.turns, t.client)
	}
	maps.DeleteFunc(g.adopted, func(_ netip.Addr, by *turn) bool { return by == t })
	for len(t.came) > 0 {
		(<-t.came).Close()
	}
}

func (g *greeter) close() { g.conn.Close() }

// run reads greetings until the port is closed. Anything else that comes, such as
// what a client still sends after its test, is nobody's.
func (g *greeter) run() {
	b := make([]byte, 64)
	for {
		n, from, err := g.conn.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			g.hello(b[:n], from)
		}
	}
}

// hello makes the stream of a greeting.
func (g *greeter) hello(b []byte, from netip.AddrPort) {
	reply, ok := replyTo(b)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.adopted[plain(from.Addr())]
	if queue := g.turns[plain(from.Addr())]; len(queue) > 0 {
		t = queue[0]
	}
	if t == nil {
		g.strangers = append(g.strangers[max(0, len(g.strangers)+1-mostStrangers):], stranger{from, [udpHelloSize]byte(b), time.Now()})
		return
	}
	g.answer(t, reply, from)
}

// adopt gives a turn the greetings of one other address, if no other session waits for
// any.
func (g *greeter) adopt(t *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.turns) != 1 || len(g.turns[t.client]) != 1 || len(t.peers) > 0 {
		return
	}
	var other netip.Addr
	for _, s := range g.strangers {
		its := plain(s.from.Addr())
		if s.came.Before(t.since) || its.Is4() != plain(t.local).Is4() || other.IsValid() && its != other {
			continue
		}
		other = its
		g.adopted[other] = t
		reply, _ := replyTo(s.says[:])
		g.answer(t, reply, s.from)
	}
	g.strangers = nil
}

// reserve takes the files of a turn's streams before its client may greet: while that waits for an answer it does not look whether it
// is refused (iperf_udp_connect in iperf_udp.c), for 30 s.
func (g *greeter) reserve(t *turn) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := t.files.Take(t.want)
	if lobby.NoFiles(err) {
		err = &sessionError{number: ErrorStreamAccept, err: errNoFiles}
	}
	return err
}

// answer makes the stream of a greeting. The caller holds the lock.
func (g *greeter) answer(t *turn, reply []byte, from netip.AddrPort) {
	if t.peers[from] || len(t.peers) == t.want {
		return
	}
	t.files.GiveUp()
	conn, err := t.dial(from, g.port())
	if err != nil { // else the client gives up by itself, and its session says why
		var option *OptionError
		if lobby.NoFiles(err) {
			err = &sessionError{number: ErrorStreamAccept, err: errNoFiles}
		}
		if (errors.As(err, &option) || errors.Is(err, errNoFiles)) && len(t.failed) == 0 {
			t.failed <- err
		}
		return
	}
	t.peers[from] = true
	if _, err := conn.Write(reply); err != nil {
		conn.Close()
		return
	}
	t.came <- conn
}

func (g *greeter) port() uint16 { return addressOf(g.conn.LocalAddr()).Port() }

// dial makes a socket of the server's port that is connected to the client.
func (t *turn) dial(to netip.AddrPort, port uint16) (*net.UDPConn, error) {
	local := net.UDPAddrFromAddrPort(netip.AddrPortFrom(t.local, port))
	dialer := net.Dialer{LocalAddr: local, Control: t.options.control}
	conn, err := dialer.Dial("udp", netip.AddrPortFrom(to.Addr().Unmap(), to.Port()).String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// replyTo is the answer to a greeting, in the words of its time; data is longer.
func replyTo(b []byte) (reply []byte, ok bool) {
	if len(b) != udpHelloSize {
		return nil, false
	}
	switch binary.BigEndian.Uint32(b) {
	case udpHello:
		return binary.BigEndian.AppendUint32(nil, udpReply), true
	case udpReply: // the greeting of a host with the other order of bytes
		return binary.BigEndian.AppendUint32(nil, udpHello), true
	case udpHelloLegacy:
		return binary.BigEndian.AppendUint32(nil, udpReplyLegacy), true
	case 123456789:
		return binary.BigEndian.AppendUint32(nil, 987654321), true
	}
	return nil, false
}

// rescueWait is how long a socket is looked at for strangers' datagrams that are on their way.
const rescueWait = time.Millisecond

// rescue takes out of a new socket what is not its client's: between its bind and
// its connect a socket may be given the greetings of others, who greet once only.
func (g *greeter) rescue(s *dataStream, wait time.Duration) {
	conn, peer := s.conn.(*net.UDPConn), s.shown.Remote
	take := func(b []byte, from netip.AddrPort) {
		if plain(from.Addr()) != plain(peer.Addr()) || from.Port() != peer.Port() {
			g.hello(b, from)
		}
	}
	held(conn, take)
	b := make([]byte, 64)
	conn.SetReadDeadline(time.Now().Add(wait))
	defer conn.SetReadDeadline(time.Time{})
	for {
		n, from, err := conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		take(b[:n], from)
	}
}
