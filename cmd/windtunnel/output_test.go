package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"windtunnel/oneoff"
)

// TestOutputThatCannotBeWritten fails: nothing was wrong with the flags.
func TestOutputThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"plan", "wire-aa"}, {"list"}, {"--help"}, {"--version"}, {"send", "--help"}, {"iperf3", "--help"}, {"iperf3", "--version"}, {"ntttcp", "--help"}} {
		var said bytes.Buffer
		code := windtunnel(args, nil, full, &said)
		if code != exitFailed || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%v: exit code %d: %s", args, code, said.String())
		}
	}
}

// TestAFailureIsAnObject: whoever reads JSON has a last line, also where nothing was counted.
func TestAFailureIsAnObject(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close() // nobody is there
	for _, c := range []struct {
		args []string
		code int
		kind string
	}{
		{[]string{"ping", "127.0.0.1", "--json", "--no-calibrate", "--port", port}, exitFailed, "ping"},
		{[]string{"ping", "127.0.0.1", "--json", "--port", "0"}, exitRefused, ""},
		{[]string{"search", "127.0.0.1", "--json", "--max", "1Mbit/s", "--port", port}, exitFailed, "datagram"},
	} {
		var out, said bytes.Buffer
		if code := windtunnel(c.args, nil, &out, &said); code != c.code {
			t.Errorf("%v: exit code %d: %s", c.args, code, said.String())
		}
		var last struct{ What, Kind, Host, Error string }
		if err := json.Unmarshal(out.Bytes(), &last); c.kind == "" && out.Len() > 0 || c.kind != "" && err != nil || last.Kind != c.kind {
			t.Errorf("%v: %v: %q", c.args, err, out.String())
		}
		if c.kind != "" && (last.What != "failed" || last.Host != "127.0.0.1" || !strings.Contains(last.Error, "is `windtunnel recv` running there")) {
			t.Errorf("%v: %+v", c.args, last)
		}
	}
}

// TestASearchThatIsInterruptedAtOnceHasNoAnswer, and does not speak of one.
func TestASearchThatIsInterruptedAtOnceHasNoAnswer(t *testing.T) {
	var out bytes.Buffer
	code, said := interruptedSearch(t, &out)
	if code != exitInterrupted || strings.Contains(said, "best answer") || !strings.Contains(out.String(), `"what":"failed"`) {
		t.Errorf("exit code %d: %s%s", code, said, out.String())
	}
}

// TestAnInterruptionIsOneWhereNothingCanBeWritten, as where the terminal is gone that sent the SIGHUP.
func TestAnInterruptionIsOneWhereNothingCanBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if code, said := interruptedSearch(t, full); code != exitInterrupted || !strings.Contains(said, "no space left on device") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// interruptedSearch is one that is, while it waits for a receiver's greeting.
func interruptedSearch(t *testing.T, out io.Writer) (code int, says string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skip: no interrupt can be sent there")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // which greets nobody
	_, port, _ := net.SplitHostPort(l.Addr().String())
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if conn, err := l.Accept(); err == nil {
			defer conn.Close()
			_ = self.Signal(os.Interrupt)
			_, _ = conn.Read(make([]byte, 1))
		}
	}()
	var said bytes.Buffer
	code = windtunnel([]string{"search", "127.0.0.1", "--json", "--max", "1Mbit/s", "--port", port}, nil, out, &said)
	return code, said.String()
}

// TestNoEscapesUnlessWanted, of reports and of live lines: not where NO_COLOR or a dumb terminal asks for none.
func TestNoEscapesUnlessWanted(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // a terminal's other end has its size, too
	if err != nil {
		t.Skip(err)
	}
	defer terminal.Close()
	for _, c := range []struct {
		no, term string
		color    bool
	}{{"", "xterm", true}, {"", "", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.no)
		t.Setenv("TERM", c.term)
		if on := screen(terminal); !on.Terminal || on.Color != c.color || look(terminal).Color != c.color {
			t.Errorf("NO_COLOR=%q TERM=%q: %+v, %+v", c.no, c.term, on, look(terminal))
		}
		if on := screen(&bytes.Buffer{}); on != (oneoff.Screen{}) {
			t.Errorf("a file is %+v", on)
		}
	}
}
