package datagram

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic"
)

// session is what the two ends of a load have agreed on.
type session struct {
	load  load
	key   key
	conn  net.Conn // the control connection
	conns []*net.UDPConn
	// peers are the flows' other ends, where the sockets are not connected.
	peers []netip.AddrPort

	noting  sync.Mutex    // of what a receiver notes while the flows open: peers, and
	unheard int           // flows that have not opened
	began   time.Time     // when that began
	whole   chan struct{} // closed when all have

	way time.Duration // a first datagram took so long, with the word of the control connection that was before or behind it

	watching sync.WaitGroup
	notes    chan note     // what the peer says after the handshake, at most noteRoom
	gone     chan struct{} // closed when the control connection has ended
}

// noteRoom is how many notes are kept unread: a peer has no reason to send more, be it that it still counts (LongestQueue by countsEvery).
const noteRoom = 4

// writeTimeout bounds how long a peer may take to take a note.
const writeTimeout = time.Second

// watch reads the peer's notes until the connection ends.
func (s *session) watch() {
	s.notes, s.gone = make(chan note, noteRoom), make(chan struct{})
	s.conn.SetDeadline(time.Time{})
	s.watching.Go(func() {
		defer close(s.gone)
		for {
			n, err := readNote(s.conn)
			if err != nil {
				return
			}
			select {
			case s.notes <- n:
			default:
				return // it babbles
			}
		}
	})
}

// tell writes a note; a peer that is gone is found by the run.
func (s *session) tell(what byte, body []byte) error {
	s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.conn.Write(note{what, body}.encode())
	return err
}

// partTime bounds how long an end waits for the other to be done, too.
const partTime = 500 * time.Millisecond

// part ends the conversation so that the last note arrives: some systems throw
// away what the other end has not read yet when a connection is closed.
func (s *session) part() {
	if c, ok := s.conn.(*net.TCPConn); ok {
		c.CloseWrite()
	}
	timer := time.NewTimer(partTime)
	defer timer.Stop()
	select {
	case <-s.gone:
	case <-timer.C:
	}
}

// engineFlows are the flows of this end: first those that it sends, then those
// that it receives.
func (s *session) engineFlows(role traffic.Role) (flows []Flow, sends, receives int) {
	for _, direction := range []traffic.Role{traffic.Send, traffic.Receive} {
		if !s.load.goes(direction == role) {
			continue
		}
		for i := range s.load.flows {
			f := Flow{Conn: s.conns[i%len(s.conns)], Role: direction, ID: uint32(i)}
			switch {
			case len(s.peers) == 0:
			case direction == traffic.Send:
				f.Peer = s.peers[i]
			default:
				f.Source = s.peers[i]
			}
			flows = append(flows, f)
		}
		if direction == traffic.Send {
			sends = s.load.flows
		} else {
			receives = s.load.flows
		}
	}
	return flows, sends, receives
}

// close ends the control connection and frees the sockets that no engine took.
func (s *session) close() {
	s.conn.Close()
	for _, c := range s.conns {
		c.Close()
	}
	s.watching.Wait()
}
