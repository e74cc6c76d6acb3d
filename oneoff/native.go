package oneoff

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

// Native is the receiver of windtunnel's own senders, a server as those of the
// foreign protocols are.
type Native struct {
	Port      int       // 0: DefaultPort; below 0: any that is free
	DataPorts PortRange // of the traffic
	Kinds     []string  // that senders may ask for; empty: all
	Release   string
	// Calibrations is where this machine's generators' rates are kept, of which a sender is told what it was sent by; the empty path: of none.
	Calibrations traffic.Calibrations
}

var _ traffic.Server = Native{}

// Name returns "native".
func (Native) Name() string { return "native" }

// Ports is the control connection's.
func (n Native) Ports() string {
	if n.Port == 0 {
		return strconv.Itoa(DefaultPort)
	}
	return strconv.Itoa(max(n.Port, 0))
}

// spareGreetings is how many connections without a session there may be beyond the sessions.
const spareGreetings = 64

func (n Native) kinds() []string {
	if len(n.Kinds) == 0 {
		return Kinds()
	}
	return n.Kinds
}

// native is a Native that serves.
type native struct {
	Native
	config   traffic.ServerConfig
	doors    doors
	listener net.Listener
	spare    *lobby.Spare
	handlers sync.WaitGroup

	mu       sync.Mutex
	open     map[net.Conn]*wire
	waiting  []*wire // of open: those without a session, not yet or no more; the longest first
	sessions int     // that have been admitted and not ended
	memory   int64   // bytes that these may take
	last     uint64  // session's number

	telling sync.Mutex
}

// Serve answers senders until ctx ends.
func (n Native) Serve(ctx context.Context, config traffic.ServerConfig) error {
	listener, err := traffic.Listen(ctx, net.ListenConfig{}, "tcp", config.Host, n.Ports())
	if err != nil {
		return cannotListen(n, err)
	}
	config.MaxClients = max(config.MaxClients, 1)
	s := &native{Native: n, config: config, doors: doors{ports: n.DataPorts}, listener: listener, spare: lobby.NewSpare(), open: map[net.Conn]*wire{}}
	if config.Ready != nil {
		config.Ready([]string{listener.Addr().String()})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, s.close)
	err = s.accept(ctx)
	cancel()
	stop()
	s.close()
	s.handlers.Wait()
	return err
}

// cannotListen explains why a server could not.
func cannotListen(n Native, err error) error {
	if inUse(err) {
		return fmt.Errorf("port %s is in use already, perhaps by another `windtunnel recv`; take another with --port", n.Ports())
	}
	return fmt.Errorf("listening on port %s: %w", n.Ports(), err)
}

// accept takes connections until the listener closes. Running out of descriptors
// costs the newcomers alone.
func (s *native) accept(ctx context.Context) error {
	defer s.spare.Close()
	for {
		conn, last, err := s.spare.Accept(s.listener)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			select {
			case <-time.After(lobby.AcceptPause):
			case <-ctx.Done():
			}
		default:
			w := newWire(conn, longestAsk)
			if !s.enter(w) {
				conn.Close()
				s.spare.Restore()
				continue
			}
			s.handlers.Go(func() {
				s.handle(ctx, w, last)
				s.spare.Restore()
			})
		}
	}
}

// errCrowded ends a connection for the sake of a newer one.
var errCrowded = refusal{"too many connections wait here, and one without a session made way to a newer one; try again"}

// enter takes a connection in, unless the receiver has closed. Where there are too many, the one that
// has been without a session for the longest makes way, so that silent strangers keep nobody out.
func (s *native) enter(w *wire) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return false
	}
	if len(s.open) >= s.config.MaxClients+spareGreetings { // more than there are sessions
		oldest := s.waiting[0]
		s.forget(oldest)
		oldest.hurry(errCrowded)
	}
	s.open[w.conn] = w
	s.waiting = append(s.waiting, w)
	return true
}

func (s *native) leave(w *wire) {
	w.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(w)
}

// forget takes a connection off the books, under the lock.
func (s *native) forget(w *wire) {
	delete(s.open, w.conn)
	s.waiting = slices.DeleteFunc(s.waiting, func(one *wire) bool { return one == w })
}

// close ends every session; none begins after it.
func (s *native) close() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.open {
		w.hurry(errClosing) // its session ends in order
	}
	s.open = nil
}

// admit gives a session that may take so much memory its number, or says why there is no room.
func (s *native) admit(w *wire, bytes int64) (number uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	switch {
	case s.open == nil:
		return s.last, errClosing
	case s.open[w.conn] == nil: // just as it spoke
		return s.last, errCrowded
	case s.sessions >= s.config.MaxClients:
		return s.last, refuse("this receiver serves %d senders at once, and they are there; try again later", s.config.MaxClients)
	case s.memory+bytes > maxForeignTogether:
		return s.last, refuse("this load could take %d MiB of the receiver's memory, and its senders have %d of the %d MiB that it gives all of them together: "+
			"try again later, or %s", mib(bytes), mib(s.memory), maxForeignTogether>>20, askForLess)
	}
	s.sessions++
	s.memory += bytes
	s.waiting = slices.DeleteFunc(s.waiting, func(one *wire) bool { return one == w })
	return s.last, nil
}

// dismiss ends a session; its connection is the last one to make way.
func (s *native) dismiss(w *wire, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions--
	s.memory -= bytes
	s.waiting = append(s.waiting, w)
}

// tell passes an event on, one at a time.
func (s *native) tell(e traffic.ServerEvent) {
	if s.config.Event == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.config.Event(e)
}

// handle speaks with one connection, whatever it is. Last is one that came when there was no file for another.
func (s *native) handle(ctx context.Context, w *wire, last bool) {
	defer s.leave(w)
	session := &session{server: s, wire: w, client: w.conn.RemoteAddr().String(), last: last}
	err := session.run(ctx)
	e := session.event("")
	var no refusal
	switch {
	case err == nil:
		e.What, e.End = traffic.SessionEnded, session.end
	case errors.As(err, &no):
		e.What, e.Says = traffic.SessionRefused, err.Error()
	default:
		e.What, e.Says, e.End = traffic.SessionFailed, err.Error(), session.end
	}
	s.tell(e)
}

// refusal is what a sender is told before anything began.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

func refuse(format string, args ...any) error { return refusal{fmt.Sprintf(format, args...)} }
