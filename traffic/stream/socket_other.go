//go:build !linux

package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"
)

// patience bounds every blocking call of a hot thread, so that it sees a stop.
const patience = 100 * time.Millisecond

// socket is a connection of net: this system has the portable calls only.
type socket struct {
	conn     *net.TCPConn
	deadline time.Time // of the calls, as it was last set
}

func takeOver(f Flow, c Config) (*flow, error) {
	conn, ok := f.Conn.(*net.TCPConn)
	if !ok {
		f.Conn.Close()
		return nil, fmt.Errorf("the stream engine drives TCP connections, not a %T", f.Conn)
	}
	if err := conn.SetNoDelay(c.NoDelay); err != nil {
		conn.Close()
		return nil, fmt.Errorf("setting TCP_NODELAY: %w", err)
	}
	return &flow{socket: socket{conn: conn}, role: f.Role}, nil
}

// available refuses what only Linux has.
func (c Config) available() error {
	switch {
	case c.Copy == CopyZero:
		return fmt.Errorf("%s has no MSG_ZEROCOPY: ask for copy plain", runtime.GOOS)
	case c.Copy == CopySendfile:
		return fmt.Errorf("the stream engine sends no files on %s: ask for copy plain", runtime.GOOS)
	case c.Copy == CopySplice:
		return fmt.Errorf("%s has no splice: ask for copy plain", runtime.GOOS)
	case c.Discard:
		return fmt.Errorf("%s cannot drop received payload unread (MSG_TRUNC): leave discard off", runtime.GOOS)
	case c.Pacing == PaceKernel:
		return fmt.Errorf("%s paces no sockets: ask for pacing auto or bucket", runtime.GOOS)
	}
	return nil
}

// bound renews the deadline of the socket's calls when less than half of the
// patience is left: each renewal costs time.
func (s *socket) bound(now time.Time) {
	if s.deadline.Sub(now) < patience/2 {
		s.deadline = now.Add(patience)
		s.conn.SetDeadline(s.deadline)
	}
}

// late tells a call that patience ended.
func late(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// sendAtOnce lets what is handed over in parts leave: this system does not tell whether they fill a segment, without which each would wait
// for an acknowledgement (Nagle's algorithm, RFC 9293 section 3.7.4).
func (s *socket) sendAtOnce(int) { _ = s.conn.SetNoDelay(true) } // takeOver has set it, too

func (s *socket) shutdown() { s.conn.CloseRead(); s.conn.CloseWrite() }

// endSending tells the peer that nothing more comes.
func (s *socket) endSending() { s.conn.CloseWrite() }

// awaitEnd waits, within the limit, until the peer has closed its half.
func (s *socket) awaitEnd(limit time.Time) {
	s.conn.SetReadDeadline(limit)
	io.Copy(io.Discard, s.conn)
}

func (s *socket) close() { s.conn.Close() }

// queued is 0: this system does not tell what was handed over and not acknowledged.
func (s *socket) queued() int { return 0 }

// unread is not told either.
func (s *socket) unread() int { return 0 }

func (s *socket) info() *TCPInfo { return nil }

func (s *socket) completions() (completed, copied uint64) { return 0, 0 }

// pace uses buckets: this system paces no sockets.
func pace(flows []*flow, c Config) (pacing, error) {
	if c.BitsPerSecond == 0 {
		return pacing{}, nil
	}
	return paceByBucket(flows, c, runtime.GOOS+" paces no sockets"), nil
}

// began is where this process's steady clock begins.
var began = time.Now()

// clock is the clock of buckets, in ns.
func clock() int64 { return int64(time.Since(began)) }

// source is what senders send.
type source struct{ buffer hotBuffer }

func newSource(c Config) (*source, error) {
	return &source{newHotBuffer(c.Message, c.Payload)}, nil
}

func (s *source) free() {}

// canDiscard tells that this system does not drop payload unread.
const canDiscard = false
