package stream

import (
	"io"
	"net"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

func TestHelloSurvivesTheWire(t *testing.T) {
	want := hello{Version: version, Direction: both, Index: 2, Total: 3, Token: token{1, 15: 9}}
	b := want.encode()
	got, err := decodeHello(b[:])
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func FuzzDecodeHello(f *testing.F) {
	good := hello{Version: version, Index: 2, Total: 3}.encode()
	bad := hello{Version: version, Index: 3, Total: 3}.encode()
	f.Add(good[:])
	f.Add(bad[:])
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil {
			return
		}
		if h.Version == version && (h.Index >= h.Total || h.Total > 2*maxStreams) {
			t.Errorf("let %+v through", h)
		}
		again, err := decodeHello(encoded(h))
		if err != nil || again != h {
			t.Errorf("%+v came back as %+v, %v", h, again, err)
		}
	})
}

func encoded(h hello) []byte { b := h.encode(); return b[:] }

func FuzzDecodeAnswer(f *testing.F) {
	for status := range uint16(6) {
		b := encodeAnswer(status)
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if decodeAnswer(b) == nil && len(b) != answerSize {
			t.Errorf("%d bytes passed for an answer", len(b))
		}
	})
}

// TestAStreamThatConnectsLate: a sender introduces its streams when all of them have connected, for which it takes ten seconds at most; the
// first ones were hung up on after five.
func TestAStreamThatConnectsLate(t *testing.T) {
	t.Parallel()
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"streams": 2}, Address: "127.0.0.1"})
	first := dial(t, receive.Address())
	time.Sleep(handshakeTimeout + time.Second) // the second one's SYN is lost some times
	second := dial(t, receive.Address())
	for i, conn := range []net.Conn{first, second} {
		greeting := hello{Version: version, Index: uint32(i), Total: 2, Token: token{1}}.encode()
		if _, err := conn.Write(greeting[:]); err != nil {
			t.Fatal(err)
		}
	}
	for i, conn := range []net.Conn{first, second} {
		conn.SetReadDeadline(time.Now().Add(handshakeTimeout))
		var answer [answerSize]byte
		_, err := io.ReadFull(conn, answer[:])
		if err == nil {
			err = decodeAnswer(answer[:])
		}
		if err != nil {
			t.Errorf("stream %d: %v", i, err)
		}
	}
}
