package oneoff

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// stranger is a hand-made connection to a receiver.
type stranger struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func visit(t *testing.T, config SendConfig) *stranger {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(config.Host, strconv.Itoa(config.Port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &stranger{t, conn, bufio.NewReader(conn)}
}

func (s *stranger) says(line string) { _, _ = io.WriteString(s.conn, line+"\n") }

// hears returns the next line, or how the connection ended.
func (s *stranger) hears() (reply, error) {
	line, err := s.in.ReadString('\n')
	var r reply
	if err == nil {
		err = json.Unmarshal([]byte(line), &r)
	}
	return r, err
}

const (
	goodHello = `{"windtunnel":1,"role":"send"}`
	goodOrder = `{"do":"prepare","kind":"stream","load":{"congestion":"reno"},"window_seconds":0.2}`
)

// TestReceiverRefuses what it cannot or will not serve, in words, and serves on.
func TestReceiverRefuses(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1, MaxTime: 10 * time.Second})
	order := func(fields string) string { return `{"do":"prepare","window_seconds":1,` + fields + `}` }
	for name, c := range map[string]struct{ hello, order, why string }{
		"another version": {`{"windtunnel":2,"role":"send"}`, "", "use the same release at both ends"},
		"another role":    {`{"windtunnel":1,"role":"recv"}`, "", `with "recv"`},
		"another word":    {goodHello, `{"do":"start"}`, `wanted "prepare", got "start"`},
		"unknown kind":    {goodHello, order(`"kind":"steam"`), "did you mean `stream`?"},
		"unknown option":  {goodHello, order(`"kind":"stream","load":{"mesage":5}`), "did you mean `message`?"},
		"earlier options": {`{"windtunnel":1,"role":"send","release":"v0.1"}`, order(`"kind":"ping","load":{"arrivals":"fixed","outstanding":65536}`),
			`(this receiver is of release "", the sender of "v0.1", and their options differ: use the same release at both ends)`},
		"wrong type":      {goodHello, order(`"kind":"stream","load":{"message":"5"}`), "its value is a string, not a size"},
		"nested":          {goodHello, order(`"kind":"stream","load":{"nodelay":{"a":[1]}}`), "not a switch"},
		"not whole":       {goodHello, order(`"kind":"stream","load":{"message":1.5}`), "1.5 is not a whole number"},
		"below zero":      {goodHello, order(`"kind":"stream","load":{"streams":-1}`), "option streams: `-1` is too small"},
		"too many":        {goodHello, order(`"kind":"stream","load":{"streams":1e300}`), "is too large"},
		"costly":          {goodHello, order(`"kind":"stream","load":{"streams":1000,"threads":1000}`), "more than the 64 that this receiver gives one sender"},
		"much memory":     {goodHello, order(`"kind":"stream","load":{"streams":64,"threads":64,"message":16777216,"buffer":1073741824}`), "MiB of the receiver's memory, more than the 1024 MiB"},
		"wide windows":    {goodHello, order(`"kind":"datagram","load":{"flows":1024,"window":16777216}`), "more than the 1024 MiB"},
		"long answers":    {goodHello, order(`"kind":"ping","load":{"flows":1024,"message":1048576,"response":1048576}`), "more than the 1024 MiB"},
		"no window":       {goodHello, `{"do":"prepare","kind":"stream"}`, "a time of 0s is not within"},
		"negative window": {goodHello, `{"do":"prepare","kind":"stream","window_seconds":-5}`, "a time of -1ns is not within"},
		"endless window":  {goodHello, `{"do":"prepare","kind":"stream","window_seconds":1e300}`, "is not within"},
		"too long":        {goodHello, `{"do":"prepare","kind":"stream","window_seconds":11}`, "longer than the 10s that this receiver gives one sender"},
		"tiny interval":   {goodHello, order(`"kind":"stream","interval_seconds":1e-9`), "an interval of"},
		"no start":        {goodHello, goodOrder + "\n" + `{"do":"begin"}`, `wanted "start" within`},
		"late start":      {goodHello, goodOrder + "\n" + `{"do":"start","in_seconds":1e6}`, `wanted "start" within 10s`},
	} {
		t.Run(name, func(t *testing.T) {
			s := visit(t, config)
			if _, err := s.hears(); err != nil {
				t.Fatalf("no hello: %v", err)
			}
			s.says(c.hello)
			s.says(c.order)
			r, err := s.hears()
			for err == nil && r.Say == sayReady {
				r, err = s.hears()
			}
			if err != nil || r.Say != sayRefused || !strings.Contains(r.Why, c.why) {
				t.Errorf("got %+v, %v; want a refusal with %q", r, err, c.why)
			}
		})
	}
	config.Window = 2 * time.Second // others may have the CPUs for as long as a short one
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err != nil {
		t.Errorf("a good sender after them: %v", err)
	}
}

func TestKindsAreChosen(t *testing.T) {
	config, _ := receiver(t, Native{Kinds: []string{"ping", "datagram"}}, traffic.ServerConfig{MaxClients: 1})
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err == nil || !strings.Contains(err.Error(), "takes ping, datagram, not stream") {
		t.Errorf("got %v", err)
	}
}

// TestReceiverSurvives whoever speaks something else, or nothing.
func TestReceiverSurvives(t *testing.T) {
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	for name, said := range map[string]string{
		"garbage": "\x00\xff\x16\x03\x01 GET / HTTP/1.1\r\n\r\n", "a long line": strings.Repeat("a", longestAsk+1),
		"not an object": "[1,2,3]", "a cut line": goodHello[:10], "nothing": "", "deep": strings.Repeat("[", 20000),
		"a garbled order": goodHello + "\n{]", "a long order": goodHello + "\n" + strings.Repeat(" ", longestAsk+1),
	} {
		t.Run(name, func(t *testing.T) {
			s := visit(t, config)
			s.says(said)
			_ = s.conn.(*net.TCPConn).CloseWrite()
			for {
				r, err := s.hears()
				if err != nil {
					break
				}
				if r.Say == sayReady {
					t.Errorf("it prepares for %q", said)
				}
			}
		})
	}
	// Silent ones hold no place of a sender's.
	for range 5 {
		visit(t, config)
	}
	config.Window = 2 * time.Second // as above
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err != nil {
		t.Errorf("a good sender beside them: %v", err)
	}
	heard.await(t, traffic.SessionFailed, 1)
}

func TestClientsAreBounded(t *testing.T) {
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	s := visit(t, config)
	_, _ = s.hears()
	s.says(goodHello + "\n" + goodOrder)
	if r, err := s.hears(); err != nil || r.Say != sayReady {
		t.Fatalf("got %+v, %v", r, err)
	}
	_, err := Send(within(t, 30*time.Second), config, Show{})
	if err == nil || !strings.Contains(err.Error(), "serves 1 senders at once") {
		t.Errorf("the second of one: %v", err)
	}
	heard.await(t, traffic.SessionRefused, 1)
	s.conn.Close() // goes away instead of starting, and frees its place
	for {
		if _, err = Send(within(t, 30*time.Second), config, Show{}); err == nil || !strings.Contains(err.Error(), "at once") {
			break
		}
	}
	if err != nil {
		t.Errorf("with the first gone: %v", err)
	}
}

// TestConnectionsAreBounded closes those that have waited longest beyond the greetings that are
// open, says why, and serves all others.
func TestConnectionsAreBounded(t *testing.T) {
	const beyond = 10
	for name, said := range map[string]string{"silent": "", "a hello alone": goodHello + "\n"} {
		t.Run(name, func(t *testing.T) {
			config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
			var many []*stranger
			for range 1 + spareGreetings + beyond {
				s := visit(t, config)
				if _, err := s.hears(); err != nil {
					t.Fatalf("number %d was not greeted: %v", len(many)+1, err)
				}
				_, _ = io.WriteString(s.conn, said)
				many = append(many, s)
			}
			for i, s := range many[:beyond] {
				if r, err := s.hears(); err != nil || r.Say != sayRefused || r.Why != errCrowded.Error() {
					t.Errorf("number %d: got %+v, %v; want a refusal with %q", i+1, r, err, errCrowded)
				}
				if r, err := s.hears(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("number %d still stands: %+v, %v", i+1, r, err)
				}
			}
			for i, s := range many[beyond:] {
				if said == "" {
					s.says(goodHello)
				}
				s.says(`{"do":"dance"}`)
				if r, err := s.hears(); err != nil || !strings.Contains(r.Why, `got "dance"`) {
					t.Errorf("number %d is not served: %+v, %v", beyond+i+1, r, err)
				}
			}
		})
	}
}

// TestStrangersKeepNobodyOut: neither a sender that comes after them, nor one that they come after.
func TestStrangersKeepNobodyOut(t *testing.T) {
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 2})
	before := visit(t, config)
	_, _ = before.hears()
	before.says(goodHello + "\n" + goodOrder)
	if r, err := before.hears(); err != nil || r.Say != sayReady {
		t.Fatalf("got %+v, %v", r, err)
	}
	for range 2 + spareGreetings + 10 {
		_, _ = visit(t, config).hears()
	}
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err != nil {
		t.Errorf("a sender after them: %v", err)
	}
	heard.await(t, traffic.SessionEnded, 1)
	before.says(`{"do":"start"}`)
	if r, err := before.hears(); err != nil || r.Say != sayStarting {
		t.Errorf("the sender before them: %+v, %v", r, err)
	}
}

// TestWhoMakesWayHoldsNothing: a connection that has made way costs the receiver nothing more,
// whether it waits for the sender's words, or for the sender to read the last line.
func TestWhoMakesWayHoldsNothing(t *testing.T) {
	s := &native{config: traffic.ServerConfig{MaxClients: 1}, open: map[net.Conn]*wire{}}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	oldest := newWire(here, longestAsk)
	if !s.enter(oldest) {
		t.Fatal("an empty receiver takes nobody")
	}
	if _, err := s.admit(oldest, 1<<20); err != nil {
		t.Fatal(err)
	}
	crowd := func() {
		for range 1 + spareGreetings {
			a, b := net.Pipe()
			t.Cleanup(func() { a.Close(); b.Close() })
			if !s.enter(newWire(a, longestAsk)) {
				t.Fatal("a newcomer was refused")
			}
		}
	}
	crowd()
	if s.open[here] == nil {
		t.Fatal("a session made way")
	}
	s.dismiss(oldest, 1<<20) // it parts, as the newest
	if s.sessions != 0 || s.memory != 0 {
		t.Errorf("%d sessions and %d bytes are left", s.sessions, s.memory)
	}
	crowd()
	if s.open[here] != nil || len(s.open) > 1+spareGreetings {
		t.Errorf("it is still there, or others: %d", len(s.open))
	}
	if _, err := s.admit(oldest, 1<<20); !errors.Is(err, errCrowded) {
		t.Errorf("admitted after it had made way: %v", err)
	}
	if err := oldest.read(new(ask), time.Minute); !errors.Is(err, errCrowded) {
		t.Errorf("a read after it had made way: %v", err)
	}
	oldest.linger(time.Minute)
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it lingers after it had made way: %v", err)
	}
}

// TestMemoryIsBoundedTogether: senders of which each one is within its bound do not take many
// times as much, and whoever leaves gives back what it had.
func TestMemoryIsBoundedTogether(t *testing.T) {
	const large = `{"do":"prepare","kind":"ping","load":{"flows":512,"message":1048576,"response":1048576,"congestion":"reno"},"window_seconds":1}`
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 16})
	asks := func() (*stranger, reply) {
		s := visit(t, config)
		_, _ = s.hears()
		s.says(goodHello + "\n" + large)
		r, err := s.hears()
		if err != nil {
			t.Fatal(err)
		}
		return s, r
	}
	var all []*stranger
	for range maxForeignTogether / maxForeignMemory {
		s, r := asks()
		if r.Say != sayReady {
			t.Fatalf("got %+v", r)
		}
		all = append(all, s)
	}
	const why = "could take 1024 MiB of the receiver's memory, and its senders have 2048 of the 2048 MiB that it gives all of them together: try again later, or ask for fewer streams"
	if _, r := asks(); r.Say != sayRefused || !strings.Contains(r.Why, why) {
		t.Errorf("one too many: %+v", r)
	}
	if _, err := Send(within(t, 30*time.Second), config, Show{}); err == nil || !strings.Contains(err.Error(), "could take 1 MiB of") {
		t.Errorf("a small one too many: %v", err)
	}
	all[0].conn.Close()
	for {
		_, err := Send(within(t, 30*time.Second), config, Show{})
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "all of them together") {
			t.Fatalf("with one gone: %v", err)
		}
	}
}

// TestBytesAreBounded ends a session that has used its bytes up, and no other,
// whichever way they flow and however seldom the sender asks for intervals.
func TestBytesAreBounded(t *testing.T) {
	for _, direction := range []string{"forward", "reverse", "both"} {
		for _, interval := range []time.Duration{0, time.Minute} {
			config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 2, MaxBytes: 1 << 20})
			config.Window, config.Interval = time.Minute, interval
			config.Load = result.Options{"direction": direction}
			got, err := Send(within(t, time.Minute), config, Show{})
			if err == nil || !strings.Contains(err.Error(), "--max-bytes") {
				t.Errorf("%s, %s: got %v", direction, interval, err)
			}
			if says := got.Pair.Sender.Error + got.Pair.Receiver.Error; strings.Contains(says, "context") || !strings.Contains(says, "--max-bytes") {
				t.Errorf("%s, %s: the ends say %q", direction, interval, says)
			}
			if !got.Usable() || got.Pair.Sender.WindowSeconds > 50 {
				t.Errorf("%s, %s: took %g s", direction, interval, got.Pair.Sender.WindowSeconds)
			}
			heard.await(t, traffic.SessionFailed, 1)
		}
	}
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 2, MaxBytes: 1 << 20})
	config.Kind, config.Window = "ping", time.Minute
	config.Load = result.Options{"message": int64(1), "response": int64(100_000)}
	if _, err := Send(within(t, time.Minute), config, Show{}); err == nil || !strings.Contains(err.Error(), "--max-bytes") {
		t.Errorf("answers: got %v", err)
	}
	heard.await(t, traffic.SessionFailed, 1)
}

// TestSenderLeaves frees the receiver at once.
func TestSenderLeaves(t *testing.T) {
	config, heard := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	s := visit(t, config)
	_, _ = s.hears()
	s.says(goodHello + "\n" + strings.Replace(goodOrder, "0.2", "3600", 1))
	if r, err := s.hears(); err != nil || r.Say != sayReady {
		t.Fatalf("got %+v, %v", r, err)
	}
	s.says(`{"do":"start","in_seconds":10}`)
	s.conn.Close()
	heard.await(t, traffic.SessionFailed, 1)
}

// impostor is a receiver that says what it is told to, then ends.
func impostor(t *testing.T, lines ...string) SendConfig {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	serving.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		for _, line := range lines {
			_, _ = io.WriteString(conn, line+"\n")
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	})
	port := ln.Addr().(*net.TCPAddr).Port
	return SendConfig{Host: "127.0.0.1", Port: port, Kind: "stream", Load: plain, Window: 200 * time.Millisecond}
}

// TestSenderTrustsNoReceiver ends with a word on what was wrong.
func TestSenderTrustsNoReceiver(t *testing.T) {
	const greeting = `{"windtunnel":1,"role":"recv"}`
	for name, c := range map[string]struct {
		lines []string
		why   string
	}{
		"nothing":           {nil, "does not greet"},
		"garbage":           {[]string{"SSH-2.0-OpenSSH_9.2"}, "does not greet"},
		"an endless line":   {[]string{strings.Repeat("x", longestReply+1)}, "longer than the protocol allows"},
		"another version":   {[]string{`{"windtunnel":7,"role":"recv","release":"v9"}`}, "speaks version 7 of the protocol, this program version 1"},
		"no answer":         {[]string{greeting}, "waiting for the answer"},
		"a refusal":         {[]string{greeting, `{"say":"refused","why":"not today"}`}, "refused: not today"},
		"no address":        {[]string{greeting, `{"say":"ready"}`}, `data address "" is none`},
		"an address's name": {[]string{greeting, `{"say":"ready","address":"nowhere:http"}`}, "preparing to send"},
		"a dead address":    {[]string{greeting, `{"say":"ready","address":"127.0.0.1:1"}`}, "preparing to send"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Send(within(t, 30*time.Second), impostor(t, c.lines...), Show{})
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want %q", err, c.why)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	_, err = Send(within(t, 30*time.Second), SendConfig{Host: "127.0.0.1", Port: port, Kind: "stream", Window: time.Second}, Show{})
	if err == nil || !strings.Contains(err.Error(), "is `windtunnel recv` running there") {
		t.Errorf("got %v", err)
	}
}

// TestALinkLocalHostNeedsItsZone: that nothing can be reached by it is no question of who listens.
func TestALinkLocalHostNeedsItsZone(t *testing.T) {
	_, err := Send(within(t, 30*time.Second), SendConfig{Host: "fe80::1", Port: 5210, Kind: "stream", Window: time.Second}, Show{})
	if err == nil || !strings.Contains(err.Error(), "fe80::1%eth0") || strings.Contains(err.Error(), "running there") {
		t.Errorf("got %v", err)
	}
}

// FuzzOrder takes any order without a crash; what is accepted is within bounds.
func FuzzOrder(f *testing.F) {
	f.Add([]byte(goodOrder))
	f.Add([]byte(`{"do":"prepare","kind":"stream","load":{"message":1e308,"nodelay":null},"window_seconds":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var order ask
		if json.Unmarshal(line, &order) != nil {
			return
		}
		s := session{server: &native{}}
		if s.take(order) != nil {
			return
		}
		if s.times.check() != nil || affordable(s.load) != nil {
			t.Errorf("took %s", line)
		}
		for name, value := range s.load {
			switch value.(type) {
			case int64, float64, bool, string:
			default:
				t.Errorf("took %s, a %T", name, value)
			}
		}
	})
}

// FuzzPairing hands on every interval's number once, in order, whatever comes.
func FuzzPairing(f *testing.F) {
	f.Add([]byte{1, 0, 1, 1, 2, 0, 3, 0, 4, 0, 9, 1})
	f.Fuzz(func(t *testing.T, script []byte) {
		last, first := 0.0, true
		p := newPairing(time.Second, func(pair Paired) {
			if !first && pair.From <= last {
				t.Errorf("%g after %g", pair.From, last)
			}
			last, first = pair.From, false
		})
		for i := 0; i+1 < len(script); i += 2 {
			interval := result.Interval{From: float64(int8(script[i])), To: float64(int8(script[i])) + 1}
			if script[i+1]%2 == 0 {
				p.sender(interval)
			} else {
				p.receiver(interval)
			}
			if len(p.waiting) > overdue {
				t.Errorf("%d wait", len(p.waiting))
			}
		}
		p.flush()
	})
}

// FuzzReplies takes whatever a receiver says in a measurement without a crash, and
// ends with its last line.
func FuzzReplies(f *testing.F) {
	f.Add([]byte(`{"say":"interval","interval":{"from":0,"to":1,"bytes":5}}` + "\n" + `{"say":"end","end":{"window_seconds":1,"bytes":5}}` + "\n"))
	f.Add([]byte(`{"say":"interval","interval":{"from":-1e308,"to":1e308}}` + "\n" + `{"say":"failed","why":"\u001b[2J"}` + "\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		here, there := net.Pipe()
		var saying sync.WaitGroup
		saying.Go(func() { _, _ = there.Write(said); there.Close() })
		pairs := newPairing(time.Second, func(Paired) {})
		r := &remote{wire: newWire(here, longestReply), intervals: pairs.receiver, broken: func(error) {}}
		r.listen()
		here.Close()
		saying.Wait()
		pairs.flush()
		if r.end == nil && r.err == nil {
			t.Error("it ended with nothing")
		}
		var out strings.Builder
		if r.end != nil {
			summarise(&out, Outcome{Kind: "stream", Pair: result.PairSample{Sender: *r.end, Receiver: *r.end}})
		}
		if r.err != nil {
			out.WriteString(r.err.Error())
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("a terminal would obey %q", out.String())
		}
	})
}

// TestNothingIsLeft of senders, good and bad, once the receiver has ended.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("visits", func(t *testing.T) {
		config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 4})
		for range 3 {
			if _, err := Send(within(t, 30*time.Second), config, Show{}); err != nil {
				t.Error(err)
			}
			s := visit(t, config)
			s.says(goodHello + "\n" + goodOrder) // and never starts
		}
	})
	for limit := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(limit) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
