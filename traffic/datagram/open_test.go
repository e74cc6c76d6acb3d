package datagram

import (
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
