package control

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleClients: who only keeps connections open keeps nobody else from being served. Who waits for
// an answer is not sent away for another.
func TestIdleClients(t *testing.T) {
	socket, _, _ := serveWith(t)
	var idle []net.Conn
	for range maxClients {
		conn, err := net.DialTimeout("unix", socket, soon)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
		if len(idle) == 1 { // it has been served once, so it is there
			conn.Write([]byte("{}\n"))
			conn.SetReadDeadline(time.Now().Add(soon))
			if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	begun := time.Now()
	if _, err := Ask(socket, Request{Get: "x"}); err == nil || !strings.Contains(err.Error(), `no "x" to get`) {
		t.Errorf("beside %d idle clients: %v", maxClients, err)
	}
	if took := time.Since(begun); took > soon {
		t.Errorf("the answer took %v", took)
	}
	gone := make(chan error, len(idle))
	for _, conn := range idle {
		conn.SetReadDeadline(time.Time{})
		go func() { // ends with the connection
			_, err := conn.Read(make([]byte, 1))
			gone <- err
		}()
	}
	select {
	case err := <-gone:
		if err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a client who was idle is told %v", err)
		}
	case <-time.After(soon):
		t.Error("every client who was idle is still there")
	}
}

// TestIdlest: who has asked nothing for the longest time has to go, whoever came first.
func TestIdlest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newGuests(3)
		var here []*guest
		for range 3 {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			here = append(here, room.enter(ours))
			time.Sleep(time.Second) // of the test's own clock
		}
		here[0].asks()
		time.Sleep(time.Second)
		here[0].waits()
		for _, goes := range []*guest{here[1], here[2], here[0]} {
			time.Sleep(time.Second)
			ours, theirs := net.Pipe()
			defer theirs.Close()
			room.enter(ours)
			if err := goes.SetDeadline(time.Time{}); room.here[goes] || len(room.here) != 3 || !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("guest %d of three is still there: %v", slices.Index(here, goes), err)
			}
		}
	})
}

// TestBusy: when all are being served, one more is told so at once.
func TestBusy(t *testing.T) {
	room := newGuests(2)
	var conns []net.Conn
	enter := func() *guest {
		here, there := net.Pipe()
		conns = append(conns, there)
		return room.enter(here)
	}
	first, second := enter(), enter()
	first.asks()
	second.asks()
	if enter() != nil {
		t.Error("there is room beside two who are being served")
	}
	second.waits()
	if enter() == nil {
		t.Error("there is no room, though one is idle")
	}
	if len(room.here) != 2 || room.here[second] {
		t.Errorf("%d guests are there", len(room.here))
	}
	first.leave()
	if enter() == nil {
		t.Error("there is no room, though one has left")
	}
	here, there := net.Pipe()
	go turnAway(here)
	there.SetDeadline(time.Now().Add(soon))
	if line, err := bufio.NewReader(there).ReadString('\n'); err != nil || !strings.Contains(line, "busy: 64 requests are being served; try again") {
		t.Errorf("it is told %q, %v", line, err)
	}
	for _, conn := range conns {
		conn.Close()
	}
}
