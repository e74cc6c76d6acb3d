package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	meeting "windtunnel/traffic/lobby"
)

// guest is a data connection whose sender has not been told apart yet: NTttcp
// puts nothing before the payload, so it is known by where it came from.
type guest struct {
	conn   net.Conn
	thread int
	from   netip.Addr
	came   time.Time

	look *look // a server's
}

// look is what a server's porter knows of a guest.
type look struct {
	offered atomic.Bool // a port was handed out on it
	outside atomic.Bool // it was there when a caller of its host began, and is none of that one's
	next    time.Time   // when to look at it again; the porter's own
}

func (g guest) isDue(now time.Time) bool { return !now.Before(g.look.next) }

// lobby listens on data ports and holds what comes until somebody claims it.
type lobby struct {
	listeners []net.Listener
	changed   chan struct{} // one token when somebody came
	accepting sync.WaitGroup
	most      int                  // guests at once; the oldest makes way
	crowded   func(out netip.Addr) // told whose did, once a second at most; may be nil

	mu     sync.Mutex
	guests []guest // oldest first
	told   time.Time
	shut   bool
}

func newLobby(most int) *lobby { return &lobby{changed: make(chan struct{}, 1), most: most} }

// mostGuests is room for the connections of any test, as far as a process may have so many files open: a sender of
// ntttcp-for-linux opens all of them before it says that it is ready. A quarter is left for what else the process opens,
// or less where that is known to be no more than so many others.
func mostGuests(files, others int) int { return min(maxConnections, max(1, files/4*3, files-others)) }

// otherFiles are those of a receiver of one test beside its connections: listeners of the data ports and of tokens, a poller for each hot thread,
// of which a CPU has one at most, and sync connections.
func (t *Test) otherFiles() int { return 2*len(t.Threads) + runtime.NumCPU() + syncFiles }

// syncFiles are a few for sync connections, the standard files and those of the Go runtime.
const syncFiles = 64

// crowdSays is why a connection that nobody had claimed was closed.
func (l *lobby) crowdSays() string {
	return fmt.Sprintf("a connection was closed: no more than %d may wait for their test to begin; use fewer, or raise the limit of open files (ulimit -n)", l.most)
}

// openLobby listens on the port of every thread.
func (r *Receiver) openLobby(ctx context.Context) error {
	for i, thread := range r.test.Threads {
		listener, err := r.test.listen(ctx, thread.Host, thread.Port)
		if err != nil {
			return err
		}
		r.lobby.listeners = append(r.lobby.listeners, listener)
		r.lobby.accepting.Go(func() { r.lobby.accept(i, listener, r.take) })
	}
	return nil
}

func (t *Test) listen(ctx context.Context, host string, port int) (net.Listener, error) {
	config := net.ListenConfig{Control: t.control, KeepAlive: -1}
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp"+t.family(), net.JoinHostPort(host, strconv.Itoa(port)))
}

// acceptPause is how long a listener rests that is out of descriptors.
const acceptPause = 50 * time.Millisecond

// take is a listener's Accept, but that it waits for a file to be free where there is none, for which connections make place that
// have gone.
func (r *Receiver) take(listener net.Listener) (net.Conn, error) {
	for told := false; ; {
		conn, err := listener.Accept()
		if !meeting.NoFiles(err) {
			return conn, err
		}
		if r.lobby != nil && r.lobby.sweep() {
			continue
		}
		if !told {
			told = true
			r.test.note("this end may open no more files: who comes to %s waits until it may; raise the limit (ulimit -n)", listener.Addr())
		}
		time.Sleep(acceptPause)
	}
}

// accept lets in what comes to a thread's port, by take as by the listener's Accept.
func (l *lobby) accept(thread int, listener net.Listener, take func(net.Listener) (net.Conn, error)) {
	for {
		conn, err := take(listener)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		l.arrive(guest{conn, thread, remoteIP(conn), time.Now(), new(look)})
	}
}

func (l *lobby) arrive(g guest) {
	if out, tells := l.seat(g); tells && l.crowded != nil {
		l.crowded(out)
	}
}

// seat lets a guest in. It returns whose connection had to make way, if that is to be told.
func (l *lobby) seat(g guest) (out netip.Addr, tells bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		g.conn.Close()
		return out, false
	}
	if len(l.guests) == l.most {
		out = l.guests[0].from
		l.guests[0].conn.Close()
		l.guests = l.guests[1:]
		if tells = time.Since(l.told) >= refusalPause; tells {
			l.told = time.Now()
		}
	}
	l.guests = append(l.guests, g)
	l.tell()
	return out, tells
}

func (l *lobby) tell() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// present are the guests that wait, oldest first. Somebody else may claim one.
func (l *lobby) present() []guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.guests)
}

// claim takes out the guests that are wanted, oldest first. The lobby is locked
// while wanted is asked.
func (l *lobby) claim(wanted func(guest) bool) []guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	var taken, rest []guest
	for _, g := range l.guests {
		if wanted(g) {
			taken = append(taken, g)
		} else {
			rest = append(rest, g)
		}
	}
	l.guests = rest
	return taken
}

// sweep drops the guests that have gone, so that a port scan takes no place. It tells whether there were any.
func (l *lobby) sweep() (any bool) {
	all := l.claim(func(g guest) bool { return g.gone() })
	closeGuests(all)
	return len(all) > 0
}

// look counts the waiting guests of each thread.
func (l *lobby) look(threads int) []int {
	n := make([]int, threads)
	for _, g := range l.present() {
		n[g.thread]++
	}
	return n
}

func (l *lobby) close() {
	for _, listener := range l.listeners {
		listener.Close()
	}
	l.mu.Lock()
	l.shut = true
	for _, g := range l.guests {
		g.conn.Close()
	}
	l.guests = nil
	l.mu.Unlock()
	l.accepting.Wait()
}

// gone tells whether the peer has closed without having sent anything.
func (g guest) gone() bool { return gone(g.conn) }

func gone(conn net.Conn) bool {
	_, ended := glance(conn)
	return ended
}

func speaks(conn net.Conn) bool {
	data, _ := glance(conn)
	return data
}

// remoteIP is a peer's address, an IPv4 one in its short form.
func remoteIP(conn net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return hostOf(at)
}

// toDialled hands guests to a fleet.
func toDialled(guests []guest) []dialled {
	all := make([]dialled, len(guests))
	for i, g := range guests {
		all[i] = dialled{g.thread, g.conn}
	}
	return all
}

// untilReadable waits until a socket has something to read, or its end, without
// taking it.
func untilReadable(conn net.Conn) error {
	raw, err := rawOf(conn)
	if err != nil {
		return err
	}
	asked := false
	return raw.Read(func(fd uintptr) bool {
		ready := readable(fd, asked)
		asked = true
		return ready
	})
}
