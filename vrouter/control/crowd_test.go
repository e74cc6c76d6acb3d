package control

import (
	"net"
	"testing"
	"testing/synctest"
)

// queue is a listener whose clients come over a channel.
type queue struct {
	clients chan net.Conn
	ended   chan struct{}
}

func (q queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.clients:
		return conn, nil
	case <-q.ended:
		return nil, net.ErrClosed
	}
}

func (q queue) Close() error   { close(q.ended); return nil }
func (q queue) Addr() net.Addr { return &net.UnixAddr{Name: "queue"} }

// TestCrowd: there is room for so many, and who leaves makes room for one more, once. The end is not waited
// for behind those who stay.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue{make(chan net.Conn, 9), make(chan struct{})}
		for range cap(q.clients) {
			conn, _ := net.Pipe()
			q.clients <- conn
		}
		c, taken := newCrowd(q, 3), make(chan net.Conn, cap(q.clients))
		go func() {
			defer close(taken)
			for {
				conn, err := c.Accept()
				if err != nil {
					return
				}
				taken <- conn
			}
		}()
		inside := func(want int) {
			t.Helper()
			if synctest.Wait(); len(taken) != want {
				t.Fatalf("%d are inside, not %d", len(taken), want)
			}
		}
		inside(3)
		first := <-taken
		first.Close()
		first.Close()
		inside(3)
		c.Close()
		c.Close()
		for range 3 {
			<-taken
		}
		if _, more := <-taken; more {
			t.Error("another was taken in behind the end")
		}
	})
}
