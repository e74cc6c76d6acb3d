package oneoff

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"windtunnel/result"
)

// protocolVersion is that of PROTOCOL.md. Ends of different versions part.
const protocolVersion = 1

const (
	// longestAsk bounds a line of a sender: a load has some twenty options.
	longestAsk = 64 << 10
	// longestReply bounds a line of a receiver: an end's histograms and its
	// thousand connections.
	longestReply = 8 << 20
	// writePatience is how long a line may take to leave; a peer that reads
	// nothing costs its own session.
	writePatience = 5 * time.Second
)

// hello is the first line of either end.
type hello struct {
	Windtunnel int      `json:"windtunnel"` // protocolVersion
	Role       string   `json:"role"`       // roleSend, roleReceive
	Release    string   `json:"release,omitempty"`
	Kinds      []string `json:"kinds,omitempty"` // of a receiver: what it takes
}

const (
	roleSend    = "send"
	roleReceive = "recv"
)

// ask is what a sender says.
type ask struct {
	Do              string         `json:"do"` // doPrepare, doStart, doStop
	Kind            string         `json:"kind,omitempty"`
	Load            result.Options `json:"load,omitempty"`
	WarmUpSeconds   float64        `json:"warm_up_seconds,omitempty"`
	WindowSeconds   float64        `json:"window_seconds,omitempty"`
	IntervalSeconds float64        `json:"interval_seconds,omitempty"`
	InSeconds       float64        `json:"in_seconds,omitempty"` // of doStart
}

const (
	doPrepare = "prepare"
	doStart   = "start"
	doStop    = "stop"
)

// reply is what a receiver says.
type reply struct {
	Say      string           `json:"say"` // sayReady, ...
	Why      string           `json:"why,omitempty"`
	Address  string           `json:"address,omitempty"` // of sayReady: where the data goes
	Interval *result.Interval `json:"interval,omitempty"`
	End      *result.PairEnd  `json:"end,omitempty"`
}

const (
	sayReady    = "ready"
	sayStarting = "starting"
	sayRefused  = "refused"
	sayInterval = "interval"
	sayEnd      = "end"
	sayFailed   = "failed"
)

var errTooLong = errors.New("a line is longer than the protocol allows")

// wire is a control connection: lines of JSON, bounded both ways and in time.
type wire struct {
	conn    net.Conn
	in      *bufio.Reader
	longest int // bytes of a line that comes in

	mu      sync.Mutex
	hurried error // why nothing is read any more
}

func newWire(conn net.Conn, longest int) *wire {
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 4<<10), longest: longest}
}

// read takes one line within the patience, 0 for no limit.
func (w *wire) read(message any, patience time.Duration) error {
	if err := w.wait(patience); err != nil {
		return err
	}
	line, err := w.line()
	if err != nil {
		return w.why(err)
	}
	if err := json.Unmarshal(line, message); err != nil {
		return fmt.Errorf("not a message of the protocol: %w", err)
	}
	return nil
}

func (w *wire) wait(patience time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hurried != nil {
		return w.hurried
	}
	limit := time.Time{}
	if patience > 0 {
		limit = time.Now().Add(patience)
	}
	return w.conn.SetReadDeadline(limit)
}

// hurry ends a read that waits, and those to come.
func (w *wire) hurry(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hurried = why
	_ = w.conn.SetReadDeadline(time.Unix(1, 0))
}

// linger lets reads wait again, after the last line; not where the connection has made way.
func (w *wire) linger(patience time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(w.hurried, errCrowded) {
		_ = w.conn.SetReadDeadline(time.Now().Add(patience))
	}
}

// why a read ended: what it was hurried for says more than that its time was over.
func (w *wire) why(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hurried != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return w.hurried
	}
	return err
}

func (w *wire) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := w.in.ReadSlice('\n')
		if len(line)+len(piece) > w.longest {
			return nil, errTooLong
		}
		line = append(line, piece...)
		if err == nil {
			return line, nil
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// write sends one line. One goroutine writes at a time.
func (w *wire) write(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if len(text) >= longestReply {
		return errTooLong
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	_, err = w.conn.Write(append(text, '\n'))
	return err
}
