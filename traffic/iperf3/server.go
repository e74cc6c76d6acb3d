package iperf3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

const (
	// cookieTimeout is how long a connection may take to say whose it is.
	cookieTimeout = 10 * time.Second
	// lackTimeout is the same where nobody else can come meanwhile.
	lackTimeout = time.Second
	// mostClients is the bound on sessions where the options name none, and
	// mostUnknown on connections that have not said whose they are: of more, the one
	// that has been silent for longest is closed, as whoever means it says so at once.
	mostClients = 1024
	mostUnknown = 1024
	// lateStream is for how long a data stream may be under way whose session ended without it, and mostLacking
	// bounds the sessions that are known for it: the next client's cookie is another one.
	lateStream  = 2 * time.Second
	mostLacking = 256
)

// server answers many clients: connections are matched to their session by the
// cookie, datagrams by the client's address.
type server struct {
	options ServerOptions
	observe func(session uint64, client string) Observer
	tcp     *net.TCPListener
	greeter *greeter
	spare   *lobby.Spare
	stop    context.CancelFunc // ends Serve

	running sync.WaitGroup
	mu      sync.Mutex
	known   map[cookie]*session
	lacking []lackingSession        // the last ones
	count   uint64                  // sessions so far
	unknown map[uint64]*net.TCPConn // connections that have not said whose they are, as they were accepted
	idle    *time.Timer

	flowing int    // sessions whose traffic runs
	flows   uint64 // whose traffic has run

	toldOfUnknown time.Time // when Refused was told of one
	untold        int       // of how many it was not, since then
}

// lackingSession ended before all its data streams had come.
type lackingSession struct {
	name cookie
	at   time.Time
}

// Serve listens and answers clients until ctx ends, or as OneOff and IdleTimeout
// say; then it tells the clients and frees everything. observe makes an Observer
// for each session, before its Connected; what a client does costs that client
// alone. An error means that it could not listen; IdleTimeout gives ErrIdle.
func Serve(ctx context.Context, o ServerOptions, observe func(session uint64, client string) Observer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{options: o.filled(), observe: observe, known: map[cookie]*session{}, unknown: map[uint64]*net.TCPConn{}, stop: func() { cancel(nil) }}
	if err := checkCPUs(o.CPUs); err != nil {
		return err
	}
	if err := s.listen(ctx); err != nil {
		return err
	}
	if o.IdleTimeout > 0 {
		s.idle = time.AfterFunc(o.IdleTimeout, func() { cancel(ErrIdle) })
		defer s.idle.Stop()
	}
	release := context.AfterFunc(ctx, func() {
		s.tcp.Close()
		s.greeter.close()
	})
	defer release()
	if o.Ready != nil {
		o.Ready(s.tcp.Addr().String())
	}
	s.running.Go(s.greeter.run)
	s.accept(ctx)
	s.running.Wait()
	if errors.Is(context.Cause(ctx), ErrIdle) {
		return ErrIdle
	}
	return nil
}

func (o ServerOptions) filled() ServerOptions {
	if o.MaxClients <= 0 {
		o.MaxClients = mostClients
	}
	if o.OneOff {
		o.MaxClients = 1
	}
	if o.RateAverage <= 0 {
		o.RateAverage = DefaultRateAverage
	}
	if o.ReceiveTimeout <= 0 {
		o.ReceiveTimeout = DefaultReceiveTimeout
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = DefaultReceiveTimeout
	}
	return o
}

// listen takes the same port for TCP and UDP.
func (s *server) listen(ctx context.Context) error {
	family := ""
	if s.options.Family != 0 {
		family = strconv.Itoa(s.options.Family)
	}
	port := s.options.Port
	switch {
	case port == 0:
		port = DefaultPort
	case port < 0:
		port = 0
	}
	options := socketOptions{device: s.options.BindDevice}
	config := net.ListenConfig{Control: options.control}
	s.options.KeepAlive.apply(&config.KeepAliveConfig)
	config.SetMultipathTCP(true) // which takes plain TCP, too: the client decides
	listener, err := traffic.Listen(ctx, config, "tcp"+family, s.options.Host, strconv.Itoa(port))
	if err != nil {
		return fmt.Errorf("listening for iperf3 clients: %w%s", err, s.deafHint(err))
	}
	s.tcp = listener.(*net.TCPListener)
	port = s.tcp.Addr().(*net.TCPAddr).Port
	options = socketOptions{datagrams: true, device: s.options.BindDevice, reuse: true}
	config = net.ListenConfig{Control: options.control}
	packets, err := traffic.ListenPacket(ctx, config, "udp"+family, s.options.Host, strconv.Itoa(port))
	if err != nil {
		s.tcp.Close()
		return fmt.Errorf("listening for the UDP streams of iperf3 clients: %w%s", err, s.deafHint(err))
	}
	if s.spare = lobby.NewSpare(); !s.spare.Restore() { // nobody could even be told so
		s.tcp.Close()
		packets.Close()
		return fmt.Errorf("listening for iperf3 clients: %w", errNoFiles)
	}
	s.greeter = newGreeter(packets.(*net.UDPConn), s.options.BindDevice)
	return nil
}

// deafHint is what to do about an address that could not be listened on.
func (s *server) deafHint(err error) string {
	host := s.options.Host
	var unnamed *net.DNSError
	var unusable *net.AddrError
	switch {
	case host != "" && errors.Is(err, syscall.EADDRNOTAVAIL):
		return "; is " + host + " an address of this host?"
	case errors.As(err, &unnamed):
		return "; is " + host + " its name?"
	case errors.As(err, &unusable):
		return "; " + host + " has none of the family that -4 or -6 asks for"
	case errors.Is(err, syscall.EINVAL) && traffic.BadZone(host) != "":
		return "; " + traffic.BadZone(host)
	case lobby.NoFiles(err):
		return "; raise the limit of open files (ulimit -n)"
	}
	return "; name another port if this one is taken"
}

// accept numbers the connections: their order is that of a client's streams.
func (s *server) accept(ctx context.Context) {
	defer s.spare.Close()
	for index := uint64(0); ; index++ {
		accepted, last, err := s.spare.Accept(s.tcp)
		if ctx.Err() != nil {
			if err == nil {
				accepted.Close()
			}
			return
		}
		if err != nil { // out of files, or a client that is gone already
			time.Sleep(10 * time.Millisecond)
			continue
		}
		conn := accepted.(*net.TCPConn)
		s.hold(conn, index)
		s.running.Go(func() {
			if last {
				s.lack(ctx, conn, index)
				s.spare.Restore()
			} else {
				s.welcome(ctx, conn, index)
			}
		})
	}
}

// errNoFiles is what a client is told, with its errno.
var errNoFiles = fmt.Errorf("this server may open no more files: raise its limit (ulimit -n): %w", syscall.EMFILE)

// lack tells whose connection it is for which there was a file, and none for another, that there is not.
func (s *server) lack(ctx context.Context, conn *net.TCPConn, index uint64) {
	name, err := s.identify(ctx, conn, index, lackTimeout)
	s.mu.Lock()
	owner := s.known[name]
	s.mu.Unlock()
	switch {
	case err != nil:
		conn.Close()
		s.unidentified(conn, err)
	case owner != nil:
		conn.Close()
		owner.lackFiles()
	default:
		c := newControl(ctx, conn)
		defer c.release()
		_ = c.sendError(ErrorAccept, errnoOf(errNoFiles))
		c.closeInOrder()
		s.refused(conn, errNoFiles)
	}
}

// hold makes room for a connection until it has said whose it is.
func (s *server) hold(conn *net.TCPConn, index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unknown) >= mostUnknown {
		oldest := slices.Min(slices.Collect(maps.Keys(s.unknown)))
		s.unknown[oldest].Close()
		delete(s.unknown, oldest)
	}
	s.unknown[index] = conn
}

// deny is what iperf3's server does with whom it has no time for.
func deny(conn net.Conn) {
	conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	conn.Write([]byte{0xff}) // accessDenied
	conn.Close()
}

// welcome finds out whose a connection is: a data stream's of a session, or a
// new client's.
func (s *server) welcome(ctx context.Context, conn *net.TCPConn, index uint64) {
	name, err := s.identify(ctx, conn, index, cookieTimeout)
	s.mu.Lock()
	owner, late := s.known[name], s.comesLate(name)
	s.mu.Unlock()
	switch {
	case err != nil:
		conn.Close()
		s.unidentified(conn, err)
	case owner == nil && late:
		deny(conn)
	case owner == nil:
		s.open(ctx, conn, name)
	case !owner.join(arrival{conn, index}):
		deny(conn)
	}
}

// comesLate tells whether a session of that name ended a moment ago without all its streams. The caller holds the lock.
func (s *server) comesLate(name cookie) bool {
	return slices.ContainsFunc(s.lacking, func(l lackingSession) bool { return l.name == name && time.Since(l.at) < lateStream })
}

func (s *server) identify(ctx context.Context, conn *net.TCPConn, index uint64, within time.Duration) (cookie, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var name cookie
	conn.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(conn, name[:])
	s.mu.Lock()
	delete(s.unknown, index)
	s.mu.Unlock()
	if err != nil {
		return name, fmt.Errorf("waiting for a cookie: %w", err)
	}
	if err := name.check(); err != nil {
		return name, err
	}
	return name, conn.SetReadDeadline(time.Time{})
}

// unidentified tells of connections that did not say whose they are, once in a while:
// whoever scans a port makes thousands.
func (s *server) unidentified(conn net.Conn, why error) {
	s.mu.Lock()
	tell, more := time.Since(s.toldOfUnknown) > cookieTimeout, s.untold
	if tell {
		s.toldOfUnknown, s.untold = time.Now(), 0
	} else {
		s.untold++
	}
	s.mu.Unlock()
	switch {
	case tell && more > 0:
		s.refused(conn, fmt.Errorf("%w; %d more connections before it did not say whose they are either", why, more))
	case tell:
		s.refused(conn, why)
	}
}

func (s *server) refused(conn net.Conn, why error) {
	if s.options.Refused != nil {
		s.options.Refused(conn.RemoteAddr().String(), why)
	}
}

// open begins a session, if there is room for one.
func (s *server) open(ctx context.Context, conn *net.TCPConn, name cookie) {
	s.mu.Lock()
	full := len(s.known) >= s.options.MaxClients || s.known[name] != nil
	var one *session
	if !full {
		s.count++
		one = newSession(ctx, s, conn, name, s.count)
		s.known[name] = one
		if s.idle != nil {
			s.idle.Stop()
		}
	}
	s.mu.Unlock()
	if full {
		deny(conn)
		s.refused(conn, fmt.Errorf("there are %d sessions already, as many as are allowed", s.options.MaxClients))
		return
	}
	err := one.serve(ctx, func(lacks bool) { s.forget(name, lacks) })
	if s.options.OneOff && !errors.Is(err, errUnauthorized) {
		s.stop() // whom a server does not let in is not its one client, as in iperf3
	}
}

// flow notes that a session's traffic begins; what it returns is called at its end,
// and tells whether others' ran meanwhile.
func (s *server) flow() (end func() (shared bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flowing++
	s.flows++
	mine, others := s.flows, s.flowing > 1
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flowing--
		return others || s.flows > mine
	}
}

// forget gives a session's place to the next client. Of a session that lacks streams the name is kept for a while:
// one that still comes would be taken for a new client.
func (s *server) forget(name cookie, lacks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
	if lacks {
		s.lacking = append(s.lacking[max(0, len(s.lacking)+1-mostLacking):], lackingSession{name, time.Now()})
	}
	if s.idle != nil && len(s.known) == 0 {
		s.idle.Reset(s.options.IdleTimeout)
	}
}
