package docker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Session is a process in a container, with its standard streams.
type Session struct {
	Stdin  io.WriteCloser // its end is the process's end of input
	Stdout io.ReadCloser

	client *Client
	conn   net.Conn
	id     string
	done   chan struct{}
	broken error // why the streams ended before the process, valid once done is closed
}

// Exec starts a process in a container, as `docker exec -i` does. Its standard error is written to stderr.
func (c *Client) Exec(ctx context.Context, container string, command []string, stderr io.Writer) (*Session, error) {
	var made struct{ ID string }
	ask := map[string]any{"AttachStdin": true, "AttachStdout": true, "AttachStderr": true, "Cmd": command}
	if err := c.call(ctx, http.MethodPost, "/containers/"+url.PathEscape(container)+"/exec", ask, &made); err != nil {
		return nil, fmt.Errorf("starting %s in the container %s: %w", command[0], container, err)
	}
	conn, from, err := c.hijack(ctx, "/exec/"+url.PathEscape(made.ID)+"/start", `{"Detach":false,"Tty":false}`)
	if err != nil {
		return nil, fmt.Errorf("attaching to %s in the container %s: %w", command[0], container, err)
	}
	out, in := io.Pipe()
	s := &Session{Stdin: halfClosed{conn}, Stdout: out, client: c, conn: conn, id: made.ID, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer conn.Close()
		s.broken = split(from, in, stderr)
		in.CloseWithError(s.broken)
	}()
	return s, nil
}

// halfClosed closes only the writing half: what the process still says is to be read.
type halfClosed struct{ *net.UnixConn }

func (h halfClosed) Close() error { return h.CloseWrite() }

// hijack posts a request after whose answer the connection is a stream. The engine may say 101 or 200
// (Docker's API, "Attach to a container").
func (c *Client) hijack(ctx context.Context, path, body string) (*net.UnixConn, io.Reader, error) {
	plain, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, nil, err
	}
	conn := plain.(*net.UnixConn)
	fail := func(err error) (*net.UnixConn, io.Reader, error) { return nil, nil, errors.Join(err, conn.Close()) }
	_ = conn.SetDeadline(time.Now().Add(answerWithin))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url(path), strings.NewReader(body))
	if err != nil {
		return fail(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	if err := request.Write(conn); err != nil {
		return fail(err)
	}
	from := bufio.NewReader(conn)
	response, err := http.ReadResponse(from, request)
	if err != nil {
		return fail(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols && response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return fail(refusal(max(response.StatusCode, http.StatusBadRequest), said))
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, from, nil
}

// split takes the process's two outputs apart: each piece has a header of eight bytes, of which the first
// names the stream and the last four are its length (Docker's API, "Stream format").
func split(from io.Reader, stdout, stderr io.Writer) error {
	var header [8]byte
	for {
		if _, err := io.ReadFull(from, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("reading what the process says: %w", err)
		}
		to := stdout
		switch header[0] {
		case 1:
		case 2:
			to = stderr
		default:
			return fmt.Errorf("the engine names a stream %d, which there is not", header[0])
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(header[4:]))); err != nil {
			return fmt.Errorf("reading what the process says: %w", err)
		}
	}
}

// Close ends the session, whatever becomes of the process.
func (s *Session) Close() error { return s.conn.Close() }

// Wait waits for the process's end and says why it was none of its own will.
func (s *Session) Wait() error {
	<-s.done
	if s.broken != nil {
		return s.broken
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	var state struct {
		Running  bool
		ExitCode int
	}
	if err := s.client.call(ctx, http.MethodGet, "/exec/"+url.PathEscape(s.id)+"/json", nil, &state); err != nil {
		return fmt.Errorf("asking how the process ended: %w", err)
	}
	if state.ExitCode != 0 {
		return fmt.Errorf("exit status %d", state.ExitCode)
	}
	return nil
}
