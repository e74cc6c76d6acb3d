package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// sharePort hands the data ports out, in the order in which sender threads come.
func (r *Receiver) sharePort(ctx context.Context, port int) error {
	t := r.test
	listener, err := t.listen(ctx, t.Threads[0].Host, port)
	if err != nil {
		return fmt.Errorf("listening for senders that ask for their data port (-sp): %w", err)
	}
	r.share = listener
	r.sharing.Go(func() { r.handPortsOut(ctx, listener) })
	return nil
}

// handPortsOut ends when every port has been taken, or the listener closes. What somebody had who was no sender is the next one's.
func (r *Receiver) handPortsOut(ctx context.Context, listener net.Listener) {
	defer listener.Close()
	free, left := make(chan int, len(r.test.Threads)), atomic.Int64{}
	left.Store(int64(len(r.test.Threads)))
	for _, thread := range r.test.Threads {
		free <- thread.Port
	}
	over := make(chan struct{})
	var asking sync.WaitGroup
	defer asking.Wait()
	for {
		var port int
		select {
		case <-over:
			return
		case port = <-free:
		}
		conn, err := r.take(listener)
		if err != nil {
			return
		}
		asking.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			if !takesPort(conn, port) {
				free <- port
			} else if left.Add(-1) == 0 {
				close(over)
			}
		})
	}
}

// askingSilence is how soon somebody shows to be no sender who closes the connection, or says something, as scanners of ports do.
const askingSilence = 20 * time.Millisecond

// takesPort hands a port out, and tells whether a sender has it: that waits for it without a word, reads it, and closes the connection
// in order, or keeps it.
func takesPort(conn net.Conn, port int) bool {
	waits := func(patience time.Duration) error {
		conn.SetReadDeadline(time.Now().Add(patience))
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	if !errors.Is(waits(askingSilence), os.ErrDeadlineExceeded) {
		return false
	}
	b := encodePort(port)
	conn.SetWriteDeadline(time.Now().Add(replyPatience))
	if _, err := conn.Write(b[:]); err != nil {
		return false
	}
	err := waits(replyPatience)
	return errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded)
}
