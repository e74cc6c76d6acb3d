package datagram

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestOpeningsThatAQueueDrops: the opening datagrams of many flows, sent at once, are more than a queue on the way holds, and sent again in the
// same order it drops the same ones, until nobody waits any more.
func TestOpeningsThatAQueueDrops(t *testing.T) {
	const flows = 200
	receiver, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	if err := receiver.SetReadBuffer(32 << 10); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer far.Close()
	s := &session{load: load{message: 1400, flows: flows}, key: newKey(), conn: near}
	defer near.Close()
	for range flows {
		c, err := net.DialUDP("udp4", nil, receiver.LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s.conns = append(s.conns, c)
	}
	go drainNowAndThen(receiver, headerFor(s.load.message, s.key), far, flows)
	near.SetDeadline(time.Now().Add(handshakeTimeout))
	if err := s.open(); err != nil {
		t.Error(err)
	}
}

// drainNowAndThen takes a few from the queue every 20 ms, and says when a datagram of every flow has come.
func drainNowAndThen(receiver *net.UDPConn, codec Codec, control net.Conn, flows int) {
	const few = 20
	seen, b := map[uint32]bool{}, make([]byte, 2048)
	for n := 1; len(seen) < flows; n++ {
		size, err := receiver.Read(b)
		if err != nil {
			return
		}
		if stamp, ok := codec.Get(b[:size]); ok {
			seen[stamp.Flow] = true
		}
		if n%few == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	control.Write(note{what: noteReady}.encode())
}

// TestOpeningsOfManySockets: a receiver with many sockets reads them all at once. While it waited at one, the others' buffers were full of
// the first datagrams that had come, and each then needed rounds of its own.
func TestOpeningsOfManySockets(t *testing.T) {
	l := load{message: 9000, flows: 512, threads: 16, dscp: -1}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	sockets, err := bindThreads(l, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer closeConns(sockets)
	to, from := &session{load: l, key: newKey(), conn: far, conns: sockets, whole: make(chan struct{})}, &session{load: l, conn: near}
	from.key = to.key
	for i := range l.flows {
		c, err := net.DialUDP("udp4", nil, sockets[i%len(sockets)].LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		from.conns = append(from.conns, c)
	}
	awaited := make(chan error, 1)
	to.expect()
	go func() {
		defer readOpenings(sockets, l.message, to.note)()
		err := to.awaitOpenings(func() bool { return false })
		far.Write(note{what: noteReady}.encode())
		awaited <- err
	}()
	near.SetDeadline(time.Now().Add(2 * handshakeTimeout))
	began := time.Now()
	err = from.open()
	if took := time.Since(began); err != nil || took > time.Second {
		t.Errorf("%v, after %s", err, took)
	}
	if err := <-awaited; err != nil {
		t.Error(err)
	}
}

// TestOpeningsBeforeTheReceiverGoesOn are noted: a sender that knows the ports may be faster than who told them.
func TestOpeningsBeforeTheReceiverGoesOn(t *testing.T) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	near, far := net.Pipe() // the answer is not told until it is read
	defer near.Close()
	l := load{message: 1400, flows: 1, threads: 1}
	s := &session{load: l, key: newKey(), conn: far, conns: []*net.UDPConn{socket}, whole: make(chan struct{})}
	accepted := make(chan error)
	go func() { accepted <- s.accept(func() bool { return false }) }()
	if _, err := near.Read(make([]byte, 1)); err != nil { // of the answer
		t.Fatal(err)
	}
	b := template(l.message, nil)
	headerFor(l.message, s.key).Put(b, Stamp{Mark: opening})
	s.note(0, b, socket.LocalAddr().(*net.UDPAddr).AddrPort())
	go func() { _, _ = io.Copy(io.Discard, near) }()
	if err := <-accepted; err != nil {
		t.Error(err)
	}
}
