//go:build linux

package vm

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// The port has one worker at its other end, whatever becomes of connections to this end, of which the guest may not
// even notice. So a connection begins with Again and a number, on a line, upon which the guest's first process ends
// the worker that there is, answers with Anew and that number, and starts another. What comes before the answer is
// for somebody who has gone.
const (
	Again = "windtunnel-again "
	Anew  = "windtunnel-anew "
)

const (
	// anewWithin is how long the guest may take to start a worker.
	anewWithin = 20 * time.Second
	// mostBefore bounds what may come before the answer, in bytes: more than one message of the agent's protocol.
	mostBefore = 16 << 20
)

// Line is the connection to a guest's worker.
type Line struct {
	net.Conn
	in io.Reader
}

// Read reads what the worker says.
func (l *Line) Read(p []byte) (int, error) { return l.in.Read(p) }

// Dial has the guest start a worker, and returns the connection to it. It ends the one before.
func (m *Machine) Dial() (*Line, error) {
	if err := m.Alive(); err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("unix", m.agent, goneWithin)
	if err != nil {
		return nil, fmt.Errorf("connecting to the virtual machine %s: %w", m.VM.Name, err)
	}
	line, err := anew(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the virtual machine %s starts no worker: %w%s", m.VM.Name, err, m.Said())
	}
	return line, nil
}

func anew(conn net.Conn) (*Line, error) {
	number := rand.Text()
	if err := conn.SetDeadline(time.Now().Add(anewWithin)); err != nil {
		return nil, err
	}
	// A line of its own, even if somebody's last one was cut off.
	if _, err := io.WriteString(conn, "\n"+Again+number+"\n"); err != nil {
		return nil, err
	}
	in, read := bufio.NewReader(conn), 0
	for {
		piece, err := in.ReadSlice('\n')
		if read += len(piece); err != nil && err != bufio.ErrBufferFull || read > mostBefore {
			return nil, fmt.Errorf("it has not said so within %s, after %d bytes (%v)", anewWithin, read, err)
		}
		if strings.HasSuffix(strings.TrimSpace(string(piece)), Anew+number) {
			return &Line{conn, in}, conn.SetDeadline(time.Time{})
		}
	}
}
