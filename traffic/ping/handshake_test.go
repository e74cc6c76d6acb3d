package ping

import "testing"

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
