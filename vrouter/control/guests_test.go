package control

import (
	"bufio"
	"net"
	"strings"
	"testing"
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
		if len(idle) == 1 { // it has been served once, so it is there, and the idlest in a moment
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
	idle[0].SetReadDeadline(time.Now().Add(soon))
	if _, err := idle[0].Read(make([]byte, 1)); err == nil {
		t.Error("the client who was idle for the longest time is still there")
	}
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
