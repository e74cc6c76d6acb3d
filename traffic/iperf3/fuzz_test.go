package iperf3

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"windtunnel/traffic/datagram"
)

func stampOf(sent int64, seq uint64) datagram.Stamp { return datagram.Stamp{Sent: sent, Seq: seq} }

func FuzzParams(f *testing.F) {
	f.Add([]byte(plainParams))
	f.Add([]byte(`{"udp":true,"time":1e1,"bandwidth":1048576,"gso":1,"server_affinity":0,"num":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := readParams(body)
		if err != nil {
			return
		}
		test := p.test(time.Second)
		if test.Parallel < 1 || test.Parallel > MaxParallel || test.Length < 1 || test.Length > MaxLength || test.Duration < 0 || test.Duration > MaxDuration {
			t.Errorf("%+v", test)
		}
		if test.Protocol == UDP && (test.Length < MinUDPLength || test.Length > MaxUDPLength) {
			t.Errorf("%+v", test)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":1,"streams":[{"id":1,"bytes":1048576,"retransmits":1.8446744073709552e+19,"jitter":0,"errors":0,"omitted_errors":0,"packets":0,"omitted_packets":0}]}`))
	f.Add([]byte(`{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":-1,"server_output_json":{"a":1},"streams":[]}`))
	streams := []*dataStream{{id: 1, sender: true}, {id: 3}}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := readResults(body, map[int]bool{1: true, 3: true})
		if err != nil {
			return
		}
		if len(r.Streams) > 2 {
			t.Errorf("%d streams of 2", len(r.Streams))
		}
		for _, protocol := range []Protocol{TCP, UDP} {
			tally := newTally(Test{Protocol: protocol, Bidirectional: true, Parallel: 1, Length: 1000}, streams, time.Now())
			if e := tally.end(tally.base, CPU{}, false, &r); len(e.Streams) != 2 {
				t.Errorf("%+v", e)
			}
		}
	})
}

// FuzzServerControl lets a client write anything to a server's session.
func FuzzServerControl(f *testing.F) {
	message := func(body string) []byte { return append([]byte{0, 0, 0, byte(len(body))}, body...) }
	f.Add(append(message(plainParams), 12))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add(append(message(`{"udp":true,"time":1}`), 4, 0))
	f.Fuzz(func(t *testing.T, wire []byte) {
		a, b := net.Pipe()
		go func() { b.Write(wire); b.Close() }()
		go func() { // what the server says is read, so that it does not wait
			var drop [256]byte
			for {
				if _, err := b.Read(drop[:]); err != nil {
					return
				}
			}
		}()
		s := &session{server: &server{options: ServerOptions{}.filled()}, observer: &record{}}
		s.control = newControl(context.Background(), a)
		defer s.control.release()
		defer s.control.close()
		if s.agree() == nil && s.test.Parallel < 1 {
			t.Errorf("%+v", s.test)
		}
	})
}

// FuzzClientControl lets a server write anything to a client.
func FuzzClientControl(f *testing.F) {
	f.Add([]byte{9, 10, 1, 2})
	f.Add([]byte{0xff})
	f.Add([]byte{9, 0xfe, 0, 0, 0, 142, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, wire []byte) {
		a, b := net.Pipe()
		go func() { b.Write(wire); b.Close() }()
		go func() {
			var drop [256]byte
			for {
				if _, err := b.Read(drop[:]); err != nil {
					return
				}
			}
		}()
		c := newControl(context.Background(), a)
		defer c.release()
		defer c.close()
		for _, step := range []state{paramExchange, createStreams, testStart, testRunning} {
			if c.expect(step, time.Second) != nil {
				return
			}
		}
		if body, err := c.receiveJSON(maxOutput, time.Second); err == nil {
			readResults(body, map[int]bool{1: true})
		}
	})
}

func FuzzDatagramHeader(f *testing.F) {
	f.Add([]byte{0, 0, 0, 7, 0, 9, 0xfb, 0xf1, 0, 0, 0, 2, 0, 0, 0, 5}, true)
	f.Add([]byte{0, 0, 0, 7, 0, 9, 0xfb, 0xf1, 0, 0, 0, 2}, false)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		h := header{wide}
		s, ok := h.Get(b)
		if !ok {
			return
		}
		var again [wideHeader]byte
		h.Put(again[:], s)
		if got, ok := h.Get(again[:h.Size()]); !ok || got != s {
			t.Errorf("% x: %+v, then %+v", b, s, got)
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add([]byte("user: mario\npwd:  rossi\nts:   1700000000"))
	f.Fuzz(func(t *testing.T, text []byte) {
		name, password, at, err := parseToken(text)
		if err != nil {
			return
		}
		again := fmt.Appendf(nil, "user: %s\npwd:  %s\nts:   %d", name, password, at.Unix())
		if n, p, a, err := parseToken(again); err != nil || n != name || p != password || !a.Equal(at) {
			t.Errorf("%q: %q %q %v, then %q %q %v, %v", text, name, password, at, n, p, a, err)
		}
	})
}

// FuzzKeys begins with small ones: each RSA key that is whole is proved, which is slow.
func FuzzKeys(f *testing.F) {
	for _, name := range []string{"public.pem", "public-pkcs1.pem", "private-ec.pem", "private-locked.pem"} {
		f.Add(file(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := ParsePrivateKey(text); err == nil && key == nil {
			t.Error("neither a key nor an error")
		}
		if key, err := ParsePublicKey(text); err == nil && key == nil {
			t.Error("neither a key nor an error")
		}
	})
}

func FuzzUsers(f *testing.F) {
	f.Add([]byte("# who\r\n\r\nmario," + marioHash + "\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		users, err := ParseUsers(text)
		for name, hashes := range users {
			for _, hash := range hashes {
				if err == nil && (name == "" || len(hash) != 64) {
					t.Errorf("%q has the hash %q", name, hash)
				}
			}
		}
	})
}
