package ping

import (
	"io"
	"net"
	"testing"
	"time"

	"windtunnel/traffic"
)

func TestHelloSurvivesTheWire(t *testing.T) {
	want := hello{Version: version, Purpose: farewell, Index: 2, Total: 3, Message: 7, Response: 9, Token: token{1, 15: 9}, Cookie: token{3}}
	b := want.encode()
	got, err := decodeHello(b[:])
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func FuzzDecodeHello(f *testing.F) {
	good := hello{Version: version, Index: 2, Total: 3, Message: 1, Response: 1}
	for _, h := range []hello{
		good,
		{Version: version, Index: 3, Total: 3, Message: 1, Response: 1},
		{Version: version, Total: 1, Message: 1 << 31, Response: 1},
		{Version: version, Total: maxFlows + 1, Message: 1, Response: 1},
		{Version: version + 1},
	} {
		b := h.encode()
		f.Add(b[:])
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil {
			return
		}
		if h.Version == version && !h.sane() {
			t.Errorf("let %+v through", h)
		}
		again := h.encode()
		if back, err := decodeHello(again[:]); err != nil || back != h {
			t.Errorf("%+v came back as %+v, %v", h, back, err)
		}
	})
}

func FuzzDecodeAnswer(f *testing.F) {
	for status := range uint16(7) {
		b := answer{Status: status, Index: 1, Cookie: token{9}}.encode()
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decodeAnswer(b)
		if err != nil {
			return
		}
		if len(b) != answerSize || a.refusal() == nil {
			t.Errorf("%d bytes passed for an answer, or it has no reason: %+v", len(b), a)
		}
	})
}

// TestAFlowThatConnectsLate: a sender introduces its flows when all of them have connected, for which it takes ten seconds at most; the
// first ones were hung up on after five.
func TestAFlowThatConnectsLate(t *testing.T) {
	t.Parallel()
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	first := dial(t, "tcp", receive.Address())
	time.Sleep(handshakeTimeout + time.Second) // the second one's SYN is lost some times
	second := dial(t, "tcp", receive.Address())
	for i, conn := range []net.Conn{first, second} {
		b := hello{Version: version, Index: uint32(i), Total: 2, Message: 1, Response: 1, Token: token{1}}.encode()
		if _, err := conn.Write(b[:]); err != nil {
			t.Fatal(err)
		}
	}
	for i, conn := range []net.Conn{first, second} {
		conn.SetReadDeadline(time.Now().Add(handshakeTimeout))
		var b [answerSize]byte
		_, err := io.ReadFull(conn, b[:])
		if err != nil {
			t.Errorf("flow %d: %v", i, err)
			continue
		}
		if a, err := decodeAnswer(b[:]); err != nil || a.Status != welcome {
			t.Errorf("flow %d: %+v, %v", i, a, err)
		}
	}
}
