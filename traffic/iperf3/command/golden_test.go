package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"windtunnel/traffic/iperf3"
)

var update = goflag.Bool("update", false, "write the goldens anew")

// golden runs a command line against an engine that plays scenes, and compares
// all that it printed with the file of its case.
func golden(t *testing.T, name, args string, e engine) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		var out, errs bytes.Buffer
		code := e.command(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &errs, func(string) string { return "" })
		text := fmt.Sprintf("$ iperf3 %s\n%s== stderr\n%s== exit %d\n", args, out.String(), errs.String(), code)
		compare(t, filepath.Join("testdata", name+".golden"), strings.ReplaceAll(text, systemInfo(), "SYSTEM"))
	})
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got, -update writes it anew):\n%s", file, d)
	}
}

// plays is a client's engine.
func plays(s scene) engine {
	return engine{run: func(_ context.Context, o iperf3.Options, to iperf3.Observer) error {
		s.start.Test.Title, s.start.Test.ExtraData = o.Title, o.ExtraData
		if s.start.Cookie != "" {
			o.Asked(s.start)
		}
		return s.play(to)
	}}
}

// answers is a server's engine: one client after the other.
func answers(scenes ...scene) engine {
	return engine{serve: func(_ context.Context, o iperf3.ServerOptions, observe func(uint64, string) iperf3.Observer) error {
		o.Ready("[::]:5201")
		for n, s := range scenes {
			number := uint64(n + 1)
			s.start.Session = number
			_ = s.play(observe(number, "192.0.2.2:40000"))
		}
		return nil
	}}
}

var errRefused = fmt.Errorf("connecting to 192.0.2.1:5201: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")})

func TestTextOfAClient(t *testing.T) {
	golden(t, "tcp", "-c 192.0.2.1 -t 2", plays(newScene(false, iperf3.TCP, forward, 1)))
	golden(t, "tcp-verbose", "-c 192.0.2.1 -t 2 -V", plays(newScene(false, iperf3.TCP, forward, 1)))
	golden(t, "tcp-reverse", "-c 192.0.2.1 -t 2 -R", plays(newScene(false, iperf3.TCP, reverse, 1)))
	golden(t, "tcp-bidir", "-c 192.0.2.1 -t 2 --bidir -P 2 -V", plays(newScene(false, iperf3.TCP, bidirectional, 2)))
	golden(t, "tcp-omit", "-c 192.0.2.1 -t 2 -O 1", plays(newScene(false, iperf3.TCP, forward, 1, withOmit)))
	golden(t, "tcp-kbytes", "-c 192.0.2.1 -t 2 -f K -T name --timestamps=at:", plays(newScene(false, iperf3.TCP, forward, 1)))
	golden(t, "tcp-no-info", "-c 192.0.2.1 -t 2", plays(newScene(false, iperf3.TCP, forward, 1, withoutTCPInfo)))
	golden(t, "udp", "-c 192.0.2.1 -t 2 -u", plays(newScene(false, iperf3.UDP, forward, 1)))
	golden(t, "udp-away", "-c 192.0.2.1 -t 2 -u", plays(newScene(false, iperf3.UDP, forward, 1, withoutAWay)))
	golden(t, "tcp-stood-json", "-c 192.0.2.1 -t 2 -J", plays(newScene(false, iperf3.TCP, forward, 1, stoodStill)))
	golden(t, "udp-away-json", "-c 192.0.2.1 -t 2 -u -J", plays(newScene(false, iperf3.UDP, forward, 1, withoutAWay)))
	golden(t, "udp-reverse", "-c 192.0.2.1 -t 2 -u -R", plays(newScene(false, iperf3.UDP, reverse, 1)))
	golden(t, "tcp-reverse-verbose-plain", "-c 192.0.2.1 -t 2 -R -V --plain", plays(newScene(false, iperf3.TCP, reverse, 1)))
	golden(t, "tcp-bidir-verbose-plain", "-c 192.0.2.1 -t 2 --bidir -V --plain", plays(newScene(false, iperf3.TCP, bidirectional, 1)))
	golden(t, "udp-reverse-plain", "-c 192.0.2.1 -t 2 -u -R --plain", plays(newScene(false, iperf3.UDP, reverse, 1)))
	golden(t, "udp-bidir", "-c 192.0.2.1 -t 2 -u --bidir -P 2", plays(newScene(false, iperf3.UDP, bidirectional, 2)))
}

func TestTextOfAClientThatFailed(t *testing.T) {
	golden(t, "refused", "-c 192.0.2.1", plays(scene{fails: errRefused}))
	golden(t, "unauthorized", "-c 192.0.2.1", plays(newScene(false, iperf3.TCP, forward, 1, turnedAway(&iperf3.ServerError{Number: iperf3.ErrorAuth}))))
	golden(t, "busy", "-c 192.0.2.1", plays(scene{fails: iperf3.ErrAccessDenied}))
	golden(t, "interrupted", "-c 192.0.2.1", plays(newScene(false, iperf3.TCP, forward, 1, cutShort(iperf3.ErrInterrupted))))
	golden(t, "server-terminated", "-c 192.0.2.1 -R", plays(newScene(false, iperf3.TCP, reverse, 2, cutShort(iperf3.ErrServerTerminated))))
}

func TestServerOutputAtAClient(t *testing.T) {
	golden(t, "server-text", "-c 192.0.2.1 -t 2 --get-server-output", plays(newScene(false, iperf3.TCP, forward, 1, func(s *scene) { s.end.ServerOutputText = "Accepted\nand done\n" })))
	golden(t, "server-json", "-c 192.0.2.1 -t 2 --get-server-output", plays(newScene(false, iperf3.TCP, forward, 1, func(s *scene) { s.end.ServerOutputJSON = []byte(`{"start":{"b":1.50,"a":[{"x":1}]}}`) })))
	golden(t, "server-json-broken", "-c 192.0.2.1 -t 2 --get-server-output", plays(newScene(false, iperf3.TCP, forward, 1, func(s *scene) { s.end.ServerOutputJSON = []byte(`{"start":`) })))
	golden(t, "json-server-text", "-c 192.0.2.1 -t 2 --get-server-output -J", plays(newScene(false, iperf3.TCP, forward, 1, func(s *scene) { s.end.ServerOutputText = "Accepted\nand done\n" })))
	golden(t, "json-server-json", "-c 192.0.2.1 -t 2 --get-server-output -J", plays(newScene(false, iperf3.TCP, forward, 1, func(s *scene) { s.end.ServerOutputJSON = []byte(`{"start":{"b":1.50,"a":[{"x":1}]}}`) })))
}

func TestJSONOfAClient(t *testing.T) {
	golden(t, "json-tcp", "-c 192.0.2.1 -t 2 -J -T name --extra-data more", plays(newScene(false, iperf3.TCP, forward, 1)))
	golden(t, "json-tcp-reverse", "-c 192.0.2.1 -t 2 -J -R", plays(newScene(false, iperf3.TCP, reverse, 1)))
	golden(t, "json-tcp-bidir", "-c 192.0.2.1 -t 2 -J --bidir -P 2", plays(newScene(false, iperf3.TCP, bidirectional, 2)))
	golden(t, "json-tcp-omit", "-c 192.0.2.1 -t 2 -J -O 1", plays(newScene(false, iperf3.TCP, forward, 1, withOmit)))
	golden(t, "json-tcp-no-info", "-c 192.0.2.1 -t 2 -J", plays(newScene(false, iperf3.TCP, forward, 1, withoutTCPInfo)))
	golden(t, "json-udp", "-c 192.0.2.1 -t 2 -J -u", plays(newScene(false, iperf3.UDP, forward, 1)))
	golden(t, "json-udp-reverse", "-c 192.0.2.1 -t 2 -J -u -R", plays(newScene(false, iperf3.UDP, reverse, 1)))
	golden(t, "json-udp-plain", "-c 192.0.2.1 -t 2 -J -u -R --plain", plays(newScene(false, iperf3.UDP, reverse, 1)))
	golden(t, "json-udp-quiet", "-c 192.0.2.1 -t 2 -J -u -R", plays(newScene(false, iperf3.UDP, reverse, 1, quiet)))
	golden(t, "json-udp-bidir", "-c 192.0.2.1 -t 2 -J -u --bidir", plays(newScene(false, iperf3.UDP, bidirectional, 1)))
	golden(t, "json-refused", "-c 192.0.2.1 -J -T name", plays(scene{fails: errRefused}))
	golden(t, "json-unauthorized", "-c 192.0.2.1 -J", plays(newScene(false, iperf3.TCP, forward, 1, turnedAway(&iperf3.ServerError{Number: iperf3.ErrorAuth}))))
	golden(t, "json-interrupted", "-c 192.0.2.1 -J", plays(newScene(false, iperf3.TCP, forward, 1, cutShort(iperf3.ErrInterrupted))))
}

func TestJSONStream(t *testing.T) {
	golden(t, "stream", "-c 192.0.2.1 -t 2 --json-stream", plays(newScene(false, iperf3.TCP, forward, 1)))
	golden(t, "stream-full", "-c 192.0.2.1 -t 2 --json-stream --json-stream-full-output", plays(newScene(false, iperf3.TCP, forward, 1)))
	golden(t, "stream-udp", "-c 192.0.2.1 -t 2 --json-stream -u -R", plays(newScene(false, iperf3.UDP, reverse, 1)))
	golden(t, "stream-refused", "-c 192.0.2.1 --json-stream", plays(scene{fails: errRefused}))
	golden(t, "stream-server", "-s --json-stream", answers(newScene(true, iperf3.UDP, forward, 1)))
}

func TestServer(t *testing.T) {
	golden(t, "serve-tcp", "-s", answers(newScene(true, iperf3.TCP, forward, 1), newScene(true, iperf3.TCP, reverse, 2)))
	golden(t, "serve-verbose", "-s -V", answers(newScene(true, iperf3.TCP, forward, 2)))
	golden(t, "serve-bidir", "-s -1", answers(newScene(true, iperf3.TCP, bidirectional, 2)))
	golden(t, "serve-udp", "-s", answers(newScene(true, iperf3.UDP, forward, 2), newScene(true, iperf3.UDP, reverse, 1)))
	golden(t, "serve-vanished", "-s", answers(newScene(true, iperf3.TCP, forward, 1, cutShort(iperf3.ErrClientTerminated)), newScene(true, iperf3.TCP, forward, 1)))
	golden(t, "serve-died", "-s", answers(newScene(true, iperf3.TCP, forward, 1, cutShort(iperf3.ErrControlClosed)), newScene(true, iperf3.TCP, forward, 1)))
	golden(t, "serve-unauthorized", "-s", answers(scene{fails: errors.New("the client is not authorized")}))
	golden(t, "serve-json", "-s -J", answers(newScene(true, iperf3.TCP, forward, 1), newScene(true, iperf3.UDP, forward, 1)))
	golden(t, "serve-json-bidir", "-s -J", answers(newScene(true, iperf3.TCP, bidirectional, 1)))
	golden(t, "serve-json-vanished", "-s -J", answers(newScene(true, iperf3.TCP, forward, 1, cutShort(iperf3.ErrClientTerminated)), scene{fails: errors.New("the client is not authorized")}))
	golden(t, "serve-json-died", "-s -J", answers(newScene(true, iperf3.TCP, forward, 1, cutShort(iperf3.ErrControlClosed)), scene{fails: errors.New("the client is not authorized")}))
}

// TestSeveralClients marks the lines of clients that are there at once.
func TestSeveralClients(t *testing.T) {
	golden(t, "serve-several", "-s", engine{serve: func(_ context.Context, o iperf3.ServerOptions, observe func(uint64, string) iperf3.Observer) error {
		o.Ready("[::]:5201")
		s := newScene(true, iperf3.TCP, forward, 1)
		first, second := observe(1, "192.0.2.2:40000"), observe(2, "192.0.2.2:40001")
		first.Connected(s.start)
		first.Interval(s.intervals[0])
		second.Connected(s.start)
		second.Interval(s.intervals[0])
		first.Ended(*s.end)
		second.Interval(s.intervals[1])
		second.Ended(*s.end)
		o.Refused("192.0.2.3:9", errors.New("the cookie did not come"))
		return nil
	}})
}

// TestTranscripts are what clients see of a server.
func TestTranscripts(t *testing.T) {
	for _, c := range []struct{ name, args string }{{"transcript", "-s"}, {"transcript-json", "-s -J"}, {"transcript-stream", "-s --json-stream"}} {
		var got string
		e := engine{serve: func(_ context.Context, o iperf3.ServerOptions, observe func(uint64, string) iperf3.Observer) error {
			s := newScene(true, iperf3.TCP, forward, 1, func(s *scene) { s.start.Test.GetServerOutput = true })
			to := observe(1, "192.0.2.2:40000")
			_ = s.play(to)
			text, json := to.(iperf3.Transcriber).Transcript()
			got = text + string(json) + "\n"
			return nil
		}}
		e.command(t.Context(), strings.Fields(c.args), nil, &bytes.Buffer{}, &bytes.Buffer{}, func(string) string { return "" })
		compare(t, filepath.Join("testdata", c.name+".golden"), strings.ReplaceAll(got, systemInfo(), "SYSTEM"))
	}
}

// TestIdle lets a server listen anew, and end with -1.
func TestIdle(t *testing.T) {
	calls := 0
	e := engine{serve: func(context.Context, iperf3.ServerOptions, func(uint64, string) iperf3.Observer) error {
		if calls++; calls < 3 {
			return iperf3.ErrIdle
		}
		return errors.New("address in use")
	}}
	var errs bytes.Buffer
	if code := e.command(t.Context(), strings.Fields("-s --idle-timeout 5"), nil, &bytes.Buffer{}, &errs, nil); code != exitFailed || calls != 3 {
		t.Errorf("exit %d after %d calls, want %d after 3: %s", code, calls, exitFailed, errs.String())
	}
	calls = 0
	if code := e.command(t.Context(), strings.Fields("-s -1 --idle-timeout 5"), nil, &bytes.Buffer{}, &errs, nil); code != exitDone || calls != 1 {
		t.Errorf("exit %d after %d calls, want %d after 1", code, calls, exitDone)
	}
}

func TestInterruptedServer(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("interrupt signal received"))
	e := engine{serve: func(ctx context.Context, _ iperf3.ServerOptions, _ func(uint64, string) iperf3.Observer) error {
		return ctx.Err()
	}}
	var errs bytes.Buffer
	if code := e.command(ctx, []string{"-s"}, nil, &bytes.Buffer{}, &errs, nil); code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	if got, want := errs.String(), "iperf3: interrupt - the server has terminated by signal interrupt\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnInterruptedServersJSONIsOneObject: it stands in the one of the client that was cut short, or, if there was none, in one
// of its own, as iperf3's.
func TestAnInterruptedServersJSONIsOneObject(t *testing.T) {
	cut := newScene(true, iperf3.TCP, forward, 1, cutShort(iperf3.ErrServerTerminated))
	for name, c := range map[string]struct {
		args   string
		scenes []scene
		want   int // objects that name it
	}{
		"a client":              {"-s -J", []scene{cut}, 1},
		"nobody":                {"-s -J", nil, 1},
		"several":               {"-s -J", []scene{cut, cut}, 2},
		"a client, as a stream": {"-s --json-stream", []scene{cut}, 1},
		"nobody, as a stream":   {"-s --json-stream", nil, 1},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		e := engine{serve: func(ctx context.Context, _ iperf3.ServerOptions, observe func(uint64, string) iperf3.Observer) error {
			stop(errors.New("interrupt signal received"))
			for i, s := range c.scenes {
				s.play(observe(uint64(i+1), "192.0.2.2"))
			}
			return ctx.Err()
		}}
		var out bytes.Buffer
		e.command(ctx, strings.Fields(c.args), nil, &out, &out, nil)
		told := 0
		for d := json.NewDecoder(&out); ; {
			var one struct {
				Start *struct {
					Version string `json:"version"`
				} `json:"start"`
				Event, Data any
				Error       string
			}
			if err := d.Decode(&one); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if one.Start != nil && one.Start.Version == "" {
				t.Errorf("%s: an object has no version", name)
			}
			if data, _ := one.Data.(string); strings.HasPrefix(one.Error+data, "interrupt") {
				told++
			}
		}
		if told != c.want {
			t.Errorf("%s: told %d times, want %d", name, told, c.want)
		}
	}
}

// TestAPeersTextMovesNoTerminal: neither what a client asks for in vain moves a server's cursor or forges a line of its log, nor
// what a server says those of its client.
func TestAPeersTextMovesNoTerminal(t *testing.T) {
	const bad = "\x1b[2J\rb\u009b1md"
	verbose := func(change func(*iperf3.End)) scene {
		return newScene(false, iperf3.TCP, forward, 1, func(s *scene) { change(s.end) })
	}
	for name, c := range map[string]struct {
		args string
		engine
	}{
		"what a client asks for":        {"-s", answers(scene{fails: errors.New("setting the congestion control " + bad)})},
		"a server's congestion control": {"-c 192.0.2.1 -V", plays(verbose(func(e *iperf3.End) { e.ReceiverCongestion = bad }))},
		"a server's text":               {"-c 192.0.2.1 --get-server-output", plays(verbose(func(e *iperf3.End) { e.ServerOutputText = "a\n" + bad + "\tc\n" }))},
		"a server's JSON":               {"-c 192.0.2.1 --get-server-output", plays(verbose(func(e *iperf3.End) { e.ServerOutputJSON = []byte(`{"a":"b\u009b1md"}`) }))},
	} {
		var out bytes.Buffer
		c.command(t.Context(), strings.Fields(c.args), nil, &out, &out, func(string) string { return "" })
		if text := out.String(); strings.ContainsAny(text, "\x1b\r\u009b") || !strings.Contains(text, "b\ufffd1md") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestStampsEachLine has the time before the title.
func TestStampsEachLine(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, &out, output{stamped: true, stampAs: "%H:%M ", title: "x"})
	s.now = func() time.Time { return time.Date(2026, 1, 1, 7, 8, 0, 0, time.UTC) }
	s.print("", "a\n")
	s.complain("b")
	if got, want := out.String(), "07:08 x:  a\n07:08 iperf3: b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
