//go:build linux

package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/traffic"
)

func anyMeeting(traffic.Meeting) error { return nil }

// receiver listens as a receiver at a port does, and returns its meeting.
func receiver(t *testing.T) (traffic.Meeting, net.Listener) {
	t.Helper()
	m := traffic.Meeting{At: netip.MustParseAddrPort("172.16.0.22:20000"), Socket: filepath.Join(t.TempDir(), "meet")}
	socket, err := net.Listen("unix", m.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return m, socket
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	m, err := traffic.ParseMeeting(address)
	if err != nil || !m.Carried {
		t.Fatalf("%+v, %v", m, err)
	}
	conn, err := net.Dial("unix", m.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// said waits until an end has said something, or is through.
func said(t *testing.T, c *carriers, address string) proto.Carry {
	t.Helper()
	for {
		got, err := c.carry(t.Context(), "A", proto.Carry{Address: address}, anyMeeting)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Bytes) > 0 || got.Ended {
			return got
		}
	}
}

// TestConnectionsAreCarried from a sender's host to a receiver's and back, and nothing of them stays.
func TestConnectionsAreCarried(t *testing.T) {
	there, socket := receiver(t)
	a, b := newCarriers(t.TempDir()), newCarriers(t.TempDir())
	here, err := a.meet("A", there.String())
	if err != nil {
		t.Fatal(err)
	}
	sender := dial(t, here)
	io.WriteString(sender, "hello")
	if got := said(t, a, here); string(got.Bytes) != "hello" || got.Ended {
		t.Fatalf("%+v", got)
	}
	if got, err := b.carry(t.Context(), "A", proto.Carry{Address: there.String(), Bytes: []byte("hello")}, anyMeeting); got.Ended || err != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	receives, err := socket.Accept()
	if err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, 5)
	if _, err := io.ReadFull(receives, heard); string(heard) != "hello" {
		t.Fatalf("%q, %v", heard, err)
	}
	io.WriteString(receives, "welcome")
	got := said(t, b, there.String())
	if _, err := a.carry(t.Context(), "A", proto.Carry{Address: here, Bytes: got.Bytes}, anyMeeting); err != nil {
		t.Fatal(err)
	}
	heard = make([]byte, 7)
	if _, err := io.ReadFull(sender, heard); string(heard) != "welcome" {
		t.Fatalf("%q, %v", heard, err)
	}
	sender.Close()
	if got := said(t, a, here); !got.Ended {
		t.Errorf("%+v", got)
	}
	if _, err := b.carry(t.Context(), "A", proto.Carry{Address: there.String(), Ended: true}, anyMeeting); err != nil {
		t.Error(err)
	}
	if n, err := receives.Read(heard); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the receiver's end stands: %d bytes, %v", n, err)
	}
	m, _ := traffic.ParseMeeting(here)
	if _, err := os.Stat(m.Socket); !errors.Is(err, os.ErrNotExist) || len(a.all)+len(b.all) > 0 {
		t.Errorf("%v, and %d and %d ends are kept", err, len(a.all), len(b.all))
	}
}

// TestCarriersStop: with their cell, also those whose sender never came, and no other.
func TestCarriersStop(t *testing.T) {
	there, _ := receiver(t)
	c := newCarriers(t.TempDir())
	a, errA := c.meet("A", there.String())
	b, errB := c.meet("B", there.String())
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	waits := make(chan proto.Carry)
	go func() {
		got, _ := c.carry(context.Background(), "A", proto.Carry{Address: a}, anyMeeting)
		waits <- got
	}()
	c.stop("A")
	if got := <-waits; len(got.Bytes) > 0 {
		t.Errorf("%+v", got)
	}
	dial(t, b)
	m, _ := traffic.ParseMeeting(a)
	if _, err := net.Dial("unix", m.Socket); err == nil {
		t.Error("the stopped cell's socket stands")
	}
	c.stop("")
	if len(c.all) != 0 {
		t.Errorf("%d are left", len(c.all))
	}
}

func TestCarriersRefuse(t *testing.T) {
	there, _ := receiver(t)
	c := newCarriers(t.TempDir())
	foreign := func(traffic.Meeting) error { return errors.New("no receiver of ours") }
	for says, ask := range map[string]proto.Carry{
		"more than the 4096":  {Address: there.String(), Bytes: make([]byte, proto.MaxCarry+1)},
		"not a receiver":      {Address: "172.16.0.22:20000", Bytes: []byte("x")},
		"no receiver of ours": {Address: there.String(), Bytes: []byte("x")},
	} {
		if _, err := c.carry(t.Context(), "A", ask, foreign); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if got, err := c.carry(t.Context(), "A", proto.Carry{Address: there.String()}, foreign); !got.Ended || err != nil { // as nobody spoke to it
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := newCarriers("").meet("A", there.String()); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Error(err)
	}
}

// TestCarryIsAnsweredBesideOthers: what is carried comes while another request is under way, or a sender would wait for an answer that
// nobody brings.
func TestCarryIsAnsweredBesideOthers(t *testing.T) {
	fromUs, toThem := io.Pipe()
	toUs, fromThem := io.Pipe()
	carried := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- serve(t.Context(), newLines(fromUs, fromThem), proto.Hello{Windtunnel: proto.Version}, func(_ context.Context, ask proto.Request) proto.Reply {
			if ask.Do == proto.DoCarry {
				close(carried)
				return proto.Reply{Carry: &proto.Carry{}}
			}
			<-carried
			return proto.Reply{}
		})
	}()
	p, err := connect(toUs, toThem)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	prepared := make(chan error, 1)
	go func() {
		_, err := p.ask(ctx, proto.Request{Do: proto.DoPrepare})
		prepared <- err
	}()
	if _, err := p.ask(ctx, proto.Request{Do: proto.DoCarry}); err != nil {
		t.Error(err)
	}
	if err := <-prepared; err != nil {
		t.Error(err)
	}
	toThem.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
