package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNoBytesAreNoBound: a receiver that lets nobody send is not one that lets everybody send without a bound.
func TestNoBytesAreNoBound(t *testing.T) {
	flags := recvFlags{port: 5210, maxTime: "10s"}
	for asked, want := range map[string]uint64{"": 0, "1kB": 1000} {
		flags.maxBytes = asked
		if config, err := flags.config(); err != nil || config.Server.MaxBytes != want {
			t.Errorf("%q: %d bytes, %v", asked, config.Server.MaxBytes, err)
		}
	}
	flags.maxBytes = "0B"
	if _, err := flags.config(); err == nil || !strings.Contains(err.Error(), "leave it away for no bound") {
		t.Errorf("%v", err)
	}
}

// TestWhereNothingCanListen is said once, before any protocol tries.
func TestWhereNothingCanListen(t *testing.T) {
	for bind, want := range map[string]string{
		"127.0.0.1:5201": "--bind 127.0.0.1 --port 5201",
		"[::1]:5201":     "--bind ::1 --port 5201",
		"fe80::1":        "say by which interface",
		"192.0.2.1":      "no address of this host",
		"no name":        "no IP, and no name of one",
		"[::1]":          "write --bind ::1, without brackets",
		"224.0.0.1":      "a group's address",
		"ff02::1%lo":     "a group's address",
	} {
		flags := recvFlags{bind: bind, port: 5210, maxClients: 1, maxTime: "10s"}
		err := flags.run(t.Context(), streams{out: io.Discard, err: io.Discard})
		if known := (coded{}); !errors.As(err, &known) || known.code != exitRefused || !strings.Contains(err.Error(), want) {
			t.Errorf("--bind %s: %v", bind, err)
		}
	}
}

// TestNoPortOfTwoProtocols: which of them had it hung on which was first, and the other said that another program has it.
func TestNoPortOfTwoProtocols(t *testing.T) {
	for _, c := range []struct {
		port int
		only []string
		want string
	}{
		{5201, nil, "--port 5201 is iperf3's (5201)"}, {5000, nil, "--port 5000 is ntttcp's (5000-5064, 6001-6064)"}, {6064, nil, "--port 6064 is ntttcp's"},
		{6064, []string{"native", "ntttcp"}, "ntttcp's"}, {5201, []string{"native", "ntttcp"}, ""}, {5201, []string{"iperf3"}, ""}, {5211, nil, ""},
	} {
		flags := recvFlags{port: c.port, only: c.only, maxClients: 1, maxTime: "10s"}
		config, err := flags.config()
		if err == nil {
			err = config.Check()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("--port %d --only %s: %v", c.port, c.only, err)
		}
	}
}

// TestAReaderThatLeftEndsNoReceiver: `recv --json | head -1` goes on for its senders. By default the first line that nobody reads
// would kill a program at its standard output.
func TestAReaderThatLeftEndsNoReceiver(t *testing.T) {
	signal.Reset(syscall.SIGPIPE)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	listens := writes(func([]byte) (int, error) {
		if !signal.Ignored(syscall.SIGPIPE) {
			t.Error("a broken pipe ends it")
		}
		cancel()
		return 0, syscall.EPIPE
	})
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket.Close() // its port is free
	flags := recvFlags{bind: "127.0.0.1", port: socket.Addr().(*net.TCPAddr).Port, only: []string{"native"}, maxClients: 1, maxTime: "10s", json: true}
	err = flags.run(ctx, streams{out: listens, err: io.Discard})
	if known := (coded{}); !errors.As(err, &known) || known.code != exitInterrupted {
		t.Errorf("it ended with %v", err)
	}
}

// TestEventsThatCannotBeWritten are told of, once, where somebody would read them, and do not end the receiver.
func TestEventsThatCannotBeWritten(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	full := writes(func([]byte) (int, error) { return 0, syscall.ENOSPC })
	var said strings.Builder
	tells := writes(func(text []byte) (int, error) {
		defer cancel()
		return said.Write(text)
	})
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket.Close() // its port is free
	flags := recvFlags{bind: "127.0.0.1", port: socket.Addr().(*net.TCPAddr).Port, only: []string{"native"}, maxClients: 1, maxTime: "10s", json: true}
	err = flags.run(ctx, streams{out: full, err: tells})
	if known := (coded{}); !errors.As(err, &known) || known.code != exitInterrupted || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(said.String(), "events are missing") {
		t.Errorf("it said %q", said.String())
	}
}

// writes is a writer.
type writes func([]byte) (int, error)

func (w writes) Write(text []byte) (int, error) { return w(text) }
