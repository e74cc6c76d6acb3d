package datagram

import (
	"bytes"
	"slices"
	"testing"
)

func FuzzDecodeHello(f *testing.F) {
	good := hello{version: version, flows: 2, message: 1400, key: testKey}.encode()
	f.Add(good[:])
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil {
			return
		}
		whole := h.encode()
		if again, err := decodeHello(whole[:]); err != nil || again != h {
			t.Errorf("%+v came back as %+v, %v", h, again, err)
		}
		l, _ := parseLoad(nil)
		if h.judge(l) == welcome && h != helloOf(l, h.key) {
			t.Errorf("let %+v through", h)
		}
	})
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(encodeAnswer(welcome, []uint16{1, 2}), 2)
	f.Add(encodeAnswer(otherLoad, nil), 1)
	f.Fuzz(func(t *testing.T, b []byte, flows int) {
		ports, err := readAnswer(bytes.NewReader(b), flows)
		if err == nil && (len(ports) < 1 || len(ports) > flows || slices.Contains(ports, 0)) {
			t.Errorf("took %v for %d flows", ports, flows)
		}
	})
}

func FuzzReadNote(f *testing.F) {
	f.Add(note{noteTotals, totals{{1, 2, 3}}.encode()}.encode())
	f.Add([]byte{noteDone, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := readNote(bytes.NewReader(b))
		if err != nil {
			return
		}
		if len(n.body) > maxNote || !bytes.HasPrefix(b, n.encode()) {
			t.Errorf("a note of %d bytes", len(n.body))
		}
		if sent, err := decodeTotals(n.body, 2); err == nil && !bytes.Equal(sent.encode(), n.body) {
			t.Errorf("totals %v are not what came", sent)
		}
	})
}
