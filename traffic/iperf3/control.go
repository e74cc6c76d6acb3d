package iperf3

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// How long this end waits for the other one on the control connection, and how
// much JSON it takes. iperf3's own server takes 8192 bytes of parameters and any
// amount of results; 128 streams in both directions are under 64 KiB, a
// server's output of a long test some MiB.
const (
	answerTimeout = 60 * time.Second // a server may be busy with other clients' streams
	writeTimeout  = 10 * time.Second
	maxParameters = 8192
	maxResults    = 1 << 20
	maxOutput     = 64 << 20 // from a server, with its output
)

// control is the control connection. One goroutine reads; any may write.
type control struct {
	ctx     context.Context // its end ends every wait
	conn    net.Conn
	write   sync.Mutex
	release func() // ends ctx's hold on the connection
	// pending is a state that is being waited for in the background; nil: none.
	pending chan heard
}

// newControl lets the end of ctx wake whoever waits for the peer, until its
// release.
func newControl(ctx context.Context, conn net.Conn) *control {
	c := &control{ctx: ctx, conn: conn}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		conn.SetReadDeadline(time.Unix(1, 0))
	})
	c.release = sync.OnceFunc(func() {
		if !stop() {
			<-woken // else it would cut a later wait short
		}
	})
	return c
}

// heard is a state of the peer, or why none came.
type heard struct {
	state state
	err   error
}

// listen waits for a state in the background, as long as it takes. Whoever takes
// it out of the channel calls heard.
func (c *control) listen() <-chan heard {
	if c.pending == nil {
		c.conn.SetReadDeadline(time.Time{})
		pending := make(chan heard, 1)
		c.pending = pending
		go func() {
			var b [1]byte
			err := c.read(b[:])
			pending <- heard{state(b[0]), err}
		}()
	}
	return c.pending
}

func (c *control) heard() { c.pending = nil }

// unhear lets what listen told be told again.
func (c *control) unhear(h heard) { c.pending <- h }

func (c *control) send(b []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := c.conn.Write(b)
	return err
}

func (c *control) sendState(s state) error {
	if err := c.send([]byte{byte(s)}); err != nil {
		return fmt.Errorf("sending %s: %w", s, err)
	}
	return nil
}

// sendError is a server's refusal.
func (c *control) sendError(number, errno int) error {
	message := []byte{0xfe} // serverErrorState
	message = binary.BigEndian.AppendUint32(message, uint32(int32(number)))
	message = binary.BigEndian.AppendUint32(message, uint32(int32(errno)))
	return c.send(message)
}

func (c *control) sendJSON(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("packing a message: %w", err)
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return c.send(append(message, body...))
}

// receive fills b within the limit; a limit of 0 waits for ever.
func (c *control) receive(b []byte, limit time.Duration) error {
	var until time.Time
	if limit > 0 {
		until = time.Now().Add(limit)
	}
	c.conn.SetReadDeadline(until)
	if c.ctx.Err() != nil {
		return ErrInterrupted
	}
	return c.read(b)
}

func (c *control) read(b []byte) error {
	_, err := io.ReadFull(c.conn, b)
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return ErrInterrupted
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET):
		return ErrControlClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errNoAnswer
	}
	return err
}

var errNoAnswer = errors.New("the peer did not answer in time")

// receiveState reads one byte and no more: what follows may be JSON.
func (c *control) receiveState(limit time.Duration) (state, error) {
	if c.pending != nil {
		c.conn.SetReadDeadline(time.Now().Add(limit))
		h := <-c.pending
		c.heard()
		return h.state, h.err
	}
	var b [1]byte
	if err := c.receive(b[:], limit); err != nil {
		return 0, err
	}
	return state(b[0]), nil
}

// receiveJSON returns a message's body. The stated length is checked before any
// memory is taken, and memory grows with what really comes.
func (c *control) receiveJSON(most int, limit time.Duration) ([]byte, error) {
	var prefix [4]byte
	if err := c.receive(prefix[:], limit); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if length == 0 || uint64(length) > uint64(most) {
		return nil, fmt.Errorf("a message of %d bytes was announced; this end takes 1 to %d", length, most)
	}
	body, err := io.ReadAll(io.LimitReader(c.conn, int64(length)))
	if err != nil {
		return nil, err
	}
	if len(body) < int(length) {
		return nil, ErrControlClosed
	}
	return body, nil
}

// expect waits for a state of the server; its refusals become errors.
func (c *control) expect(want state, limit time.Duration) error {
	got, err := c.receiveState(limit)
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", want, err)
	}
	if got == want {
		return nil
	}
	if err := c.refusal(got); err != nil {
		return err
	}
	return fmt.Errorf("the server sent %s where %s was due", got, want)
}

// refusal is the error that a server's state means, nil for a step of a test.
func (c *control) refusal(got state) error {
	switch got {
	case accessDenied:
		return ErrAccessDenied
	case serverTerminate:
		return ErrServerTerminated
	case serverErrorState:
		var number, errno [4]byte
		if err := c.receive(number[:], writeTimeout); err != nil {
			return fmt.Errorf("reading the server's error: %w", err)
		}
		// iperf3 3.12 closes without the second one where it refuses a user, as its client, which takes that for 0, does not notice.
		if err := c.receive(errno[:], writeTimeout); err != nil {
			errno = [4]byte{}
		}
		return &ServerError{
			Number: int(int32(binary.BigEndian.Uint32(number[:]))),
			Errno:  int(int32(binary.BigEndian.Uint32(errno[:]))),
		}
	}
	return nil
}

// close ends the connection, and whoever still listens.
func (c *control) close() {
	c.conn.Close()
	if c.pending != nil {
		<-c.pending
		c.heard()
	}
}

// closeInOrder tells the peer that nothing more comes, and waits a little until
// it has closed too, so that it can read all that was sent.
func (c *control) closeInOrder() {
	defer c.close()
	c.release()
	if half, ok := c.conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	if c.pending != nil {
		<-c.pending
		c.heard()
	}
	io.Copy(io.Discard, io.LimitReader(c.conn, maxResults))
}
