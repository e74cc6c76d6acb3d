package frame

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// requester asks a server of ZeroMQ's pattern of requests and replies over TCP: ZMTP 3.0 (ZeroMQ's RFC 23) without security, as a socket
// of kind REQ, which puts an empty frame before what it says (RFC 28). It neither connects again nor queues: who answers
// runs beside it. No length is believed beyond longestReply.
type requester struct {
	conn net.Conn
	read *bufio.Reader
}

const (
	zmtpGreeting = 64 // bytes
	zmtpMajor    = 3
	// The flags of a frame.
	frameMore    = 1
	frameLong    = 2 // its length has 8 bytes, not 1
	frameCommand = 4
	frameFlags   = frameMore | frameLong | frameCommand
	// longestReply is the most bytes that are read of one answer, and replyFrames its most frames.
	longestReply = 1 << 20
	replyFrames  = 100
)

// greeting is what either end says first: signature, version, mechanism NULL, and of what kind its socket is, by the
// command READY.
func greeting(kind string) []byte {
	g := make([]byte, zmtpGreeting)
	g[0], g[9], g[10] = 0xff, 0x7f, zmtpMajor
	copy(g[12:], "NULL")
	const name = "Socket-Type"
	body := append([]byte("\x05READY"), byte(len(name)))
	body = append(binary.BigEndian.AppendUint32(append(body, name...), uint32(len(kind))), kind...)
	return append(append(g, frameCommand, byte(len(body))), body...)
}

// dialRequester connects, and greets, until ctx ends.
func dialRequester(ctx context.Context, address string) (*requester, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { expire(conn) })
	defer stop()
	r := &requester{conn: conn, read: bufio.NewReader(conn)}
	_, err = conn.Write(greeting("REQ"))
	if err == nil {
		err = readGreeting(r.read)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("greeting %s as ZeroMQ does: %w", address, err), conn.Close())
	}
	return r, nil
}

// expire ends whatever waits for a connection.
func expire(conn net.Conn) { _ = conn.SetDeadline(time.Unix(1, 0)) } // it is closed else

// readGreeting reads the other end's.
func readGreeting(r *bufio.Reader) error {
	theirs := make([]byte, zmtpGreeting)
	if _, err := io.ReadFull(r, theirs); err != nil {
		return err
	}
	mechanism := bytes.TrimRight(theirs[12:32], "\x00")
	if theirs[0] != 0xff || theirs[9]&1 == 0 || theirs[10] < zmtpMajor || string(mechanism) != "NULL" {
		return fmt.Errorf("it is no server of ZMTP 3 without security: %x", theirs[:32])
	}
	flags, body, err := readFrame(r)
	if err != nil {
		return err
	}
	if flags&frameCommand == 0 || !bytes.HasPrefix(body, []byte("\x05READY")) {
		return fmt.Errorf("it refuses: %.100q", body)
	}
	return nil
}

// ask sends a message, and returns its answer's bytes. It waits no longer than patience, nor after given is closed.
func (r *requester) ask(message []byte, patience time.Duration, given <-chan struct{}) ([]byte, error) {
	_ = r.conn.SetDeadline(time.Now().Add(patience)) // else the next call tells
	var watch sync.WaitGroup
	answered := make(chan struct{})
	watch.Go(func() {
		select {
		case <-given:
			expire(r.conn)
		case <-answered:
		}
	})
	defer watch.Wait()
	defer close(answered)
	if _, err := r.conn.Write(request(message)); err != nil {
		return nil, err
	}
	return readAnswer(r.read)
}

// request is a message of one frame, behind an empty one.
func request(message []byte) []byte {
	head := binary.BigEndian.AppendUint64([]byte{frameMore, 0, frameLong}, uint64(len(message)))
	return append(head, message...)
}

// readAnswer reads one message: an empty frame, and what the others have together. Commands between them are of the connection.
func readAnswer(r *bufio.Reader) (answer []byte, err error) {
	for parts, frames := 0, 0; frames < replyFrames; frames++ {
		flags, body, err := readFrame(r)
		switch {
		case err != nil:
			return nil, err
		case flags&frameCommand != 0:
			continue
		case parts == 0 && len(body) > 0:
			return nil, fmt.Errorf("an answer begins with %.100q", body)
		case parts == 0 && flags&frameMore == 0:
			return nil, errors.New("an answer has nothing in it")
		case len(answer)+len(body) > longestReply:
			return nil, fmt.Errorf("an answer has over %d bytes", longestReply)
		}
		answer = append(answer, body...)
		if parts++; flags&frameMore == 0 {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("an answer has over %d frames", replyFrames)
}

// readFrame reads one frame.
func readFrame(r *bufio.Reader) (flags byte, body []byte, err error) {
	if flags, err = r.ReadByte(); err != nil {
		return 0, nil, err
	}
	if flags&^frameFlags != 0 {
		return 0, nil, fmt.Errorf("a frame has the flags %#x", flags)
	}
	length := make([]byte, 8)
	digits := length[7:]
	if flags&frameLong != 0 {
		digits = length
	}
	if _, err := io.ReadFull(r, digits); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint64(length)
	if size > longestReply {
		return 0, nil, fmt.Errorf("a frame has %d bytes, and %d are read", size, longestReply)
	}
	body = make([]byte, size)
	_, err = io.ReadFull(r, body)
	return flags, body, err
}

func (r *requester) close() error { return r.conn.Close() }
