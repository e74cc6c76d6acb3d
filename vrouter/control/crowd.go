package control

import (
	"net"
	"sync"
)

// A crowd is a listener that takes so many in at a time.
type crowd struct {
	net.Listener
	room  chan struct{}
	ended chan struct{}
	close func() error
}

func newCrowd(listener net.Listener, most int) *crowd {
	c := &crowd{Listener: listener, room: make(chan struct{}, most), ended: make(chan struct{})}
	c.close = sync.OnceValue(func() error {
		close(c.ended)
		return listener.Close()
	})
	return c
}

// Accept waits for room, and then for a client.
func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.room <- struct{}{}:
	case <-c.ended:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.room
		return nil, err
	}
	return &member{conn, sync.OnceFunc(func() { <-c.room })}, nil
}

// Close also ends the wait for room.
func (c *crowd) Close() error { return c.close() }

// A member makes room when it is closed.
type member struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (m *member) Close() error {
	defer m.leave()
	return m.Conn.Close()
}
