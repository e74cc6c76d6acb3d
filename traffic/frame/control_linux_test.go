package frame

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHelloIsReadAsWritten(t *testing.T) {
	for _, ip := range []netip.Addr{four, six} {
		want := helloOf(load{sizes: mix{1518}, flows: 7, addresses: true}, ip)
		got, err := decodeHello(want.encode())
		if err != nil || got != want || got.judge(want) != welcome {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestHelloIsJudged(t *testing.T) {
	want := helloOf(load{sizes: mix{64}, flows: 7}, four)
	for says, change := range map[string]func(*hello){
		"another version": func(h *hello) { h.version++ },
		"another size":    func(h *hello) { h.size++ },
		"other flows":     func(h *hello) { h.flows++ },
		"vary":            func(h *hello) { h.addresses = true },
		"other family":    func(h *hello) { h.family = 6 },
	} {
		h := want
		change(&h)
		_, err := decodeAnswer(encodeAnswer(h.judge(want), 1))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", says, err)
		}
	}
}

func TestFinalIsBounded(t *testing.T) {
	want := final{sent: 5, windowNS: 1e9}
	m, err := decodeMessage(want.message().encode())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.final(); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	// A sender's window is by its clock, and so a little longer than was asked for: of the longest there is, too.
	if _, err := (final{sent: 5, windowNS: 24*3600*1e9 + 1e6}).message().final(); err != nil {
		t.Error(err)
	}
	for _, lie := range []final{{sent: 1 << 60, windowNS: 1}, {sent: 1}, {windowNS: 1 << 60}} {
		if _, err := lie.message().final(); err == nil {
			t.Errorf("believed %+v", lie)
		}
	}
}

// FuzzControl lets a stranger say anything on the control connection.
func FuzzControl(f *testing.F) {
	f.Add(helloOf(load{sizes: mix{64}, flows: 1}, four).encode())
	f.Add(encodeAnswer(welcome, 7))
	f.Add(encodeAnswer(taken, 0))
	f.Add(final{sent: 1, windowNS: 1}.message().encode())
	f.Fuzz(func(t *testing.T, said []byte) {
		if h, err := decodeHello(said); err == nil && h.judge(h) != welcome {
			t.Errorf("%+v is not welcome to itself", h)
		}
		if session, err := decodeAnswer(said); err == nil && string(encodeAnswer(welcome, session)) != string(said) &&
			len(said) != answerSize {
			t.Errorf("a welcome of %d bytes", len(said))
		}
		m, err := decodeMessage(said)
		if err != nil {
			return
		}
		if string(m.encode()) != string(said) {
			t.Errorf("read %+v, which is written otherwise", m)
		}
		if f, err := m.final(); err == nil && (f.sent > mostFrames || f.windowNS > longestWindow) {
			t.Errorf("believed %+v", f)
		}
	})
}
