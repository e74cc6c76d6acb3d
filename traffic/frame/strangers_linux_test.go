package frame

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestAnothersTerminalIsLeftAlone: what a program that died had as its terminal is the next one's that is opened.
func TestAnothersTerminalIsLeftAlone(t *testing.T) {
	old, screen, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(screen.Close(), old.keys.Close()); err != nil {
		t.Fatal(err)
	}
	theirs, screen, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.keys.Close()
	defer screen.Close()
	if err := old.hold(); err == nil {
		t.Errorf("%s was held, whose program has ended; the stranger's is %s", old.name, theirs.name)
	}
	go func() { _, _ = screen.Write([]byte("hello")) }()
	if err := theirs.keys.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := theirs.keys.Read(make([]byte, 10)); n == 0 {
		t.Error("nothing that the stranger writes is painted:", err)
		_ = theirs.resume()
	}
}

// dying fails at its second stop, the one after the window.
type dying struct {
	driver
	console *console
	count   uint64
	stops   int
}

func (d *dying) start() error { return nil }
func (d *dying) stop() error {
	if d.stops++; d.stops > 1 {
		return errors.New("it died of hunger")
	}
	return nil
}
func (d *dying) sent() (uint64, uint64, error) { d.count += 1000; return d.count, 0, nil }
func (d *dying) process() *console             { return d.console }

// TestAFailureAtTheEndIsTold, and the receiver is not told of a total that nobody knows.
func TestAFailureAtTheEndIsTold(t *testing.T) {
	console, err := startConsole(t.Context(), []string{standIn(t, "cat").program}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer console.close()
	m := &foreignMover{driver: &dying{console: console}, ended: make(chan struct{})}
	if err := m.probe(); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	defer there.Close()
	go func() {
		b := make([]byte, messageSize)
		for {
			if _, err := io.ReadFull(there, b); err != nil {
				return
			}
			if m, err := decodeMessage(b); err != nil || m.kind == tellFinal {
				t.Errorf("the receiver is told %+v, %v", m, err)
				_, _ = there.Write(b)
			}
		}
	}()
	l, err := parseLoad(result.Options{"generator": "testpmd"})
	if err != nil {
		t.Fatal(err)
	}
	w := &sendWorker{load: l, method: "testpmd", closing: make(chan struct{}), session: &session{control: here}, start: func() (mover, error) { return m, nil }}
	end, err := w.Run(t.Context(), traffic.Schedule{Start: time.Now().Add(100 * time.Millisecond), WarmUp: 100 * time.Millisecond, Window: 300 * time.Millisecond})
	if err != nil || !strings.Contains(end.Error, "it died of hunger") {
		t.Errorf("the sender says %q, %v", end.Error, err)
	}
}

// stallingTester counts 10,000 frames a second from start on, and at the first question after closes thinks for longer than it may.
func stallingTester(conn net.Conn, start, closes time.Time) {
	lines := bufio.NewScanner(conn)
	for stalled := false; lines.Scan(); {
		if !stalled && time.Now().After(closes) {
			stalled = true
			time.Sleep(testerPatience + 300*time.Millisecond)
		}
		answer := fmt.Sprintf("ok %d 1000000000 0 5 5", time.Now().UnixNano())
		switch strings.Fields(lines.Text())[0] {
		case "tally":
			for phase := range phases {
				n := int64(0)
				if phase == window {
					n = min(8000, 10*max(0, time.Since(start).Milliseconds()))
				}
				answer += fmt.Sprintf(" %d 0 0 0 0 0 %d", n, 64*n)
			}
			answer += " 0 1"
		case "flights":
			answer = "ok" + strings.Repeat(" 0", 256)
		}
		if _, err := fmt.Fprintln(conn, answer); err != nil {
			return
		}
	}
}

// TestALateAnswerIsNobodys: after one that was given up, the next is not taken for what is asked then.
func TestALateAnswerIsNobodys(t *testing.T) {
	path := socketFolder(t) + "/tester"
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	when := traffic.Schedule{Start: time.Now().Add(300 * time.Millisecond), WarmUp: 100 * time.Millisecond, Window: 500 * time.Millisecond}
	closes := when.Start.Add(when.WarmUp + when.Window)
	go func() {
		if conn, err := ln.Accept(); err == nil {
			defer conn.Close()
			stallingTester(conn, when.Start, closes)
		}
	}()
	p := traffic.Port{Name: "two", Tester: path, MAC: "02:00:00:00:00:08", NextHop: "02:00:00:00:00:07", Address: "192.0.2.8", MTU: 1500}
	load := result.Options{"generator": "testpmd"}
	w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Load: load, Address: p.Address, Port: &p})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m, err := traffic.ParseMeeting(w.Address())
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseLoad(load)
	if err != nil {
		t.Fatal(err)
	}
	s, err := joinAtPort(context.Background(), l, m.At.Addr(), m)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(time.Until(closes.Add(tail)))
		_ = s.tell(final{sent: 9000, windowNS: uint64(when.Window)}) // by then there may be nobody
	}()
	if end, err := w.Run(t.Context(), when); err == nil && end.Error == "" {
		t.Errorf("%d packets in %g s, without an error", end.Packets, end.WindowSeconds)
	}
}

// TestALossAtAPortIsInItsInterval: what a port does not take at once is offered again, and is no gap that was refused.
func TestALossAtAPortIsInItsInterval(t *testing.T) {
	program, dir, dir2 := pollProgram(t), socketFolder(t), socketFolder(t)
	sockets := []string{dir + "/one", dir2 + "/two"}
	forwarder(t, "net_vhost0,iface="+sockets[0], "net_vhost1,iface="+sockets[1])
	_, from := startTester(t, program, dir, []string{"one"}, sockets[:1])
	sink, to := startTester(t, program, dir2, []string{"two"}, sockets[1:])
	from[0].NextHop, to[0].NextHop, to[0].Address = to[0].MAC, from[0].MAC, "192.0.2.9"
	when := traffic.Schedule{Start: time.Now().Add(100 * time.Millisecond), WarmUp: 300 * time.Millisecond, Window: 2 * time.Second, Interval: 100 * time.Millisecond}
	var stops sync.WaitGroup
	stops.Go(func() {
		time.Sleep(time.Until(when.Start.Add(time.Second)))
		_ = sink.Process.Signal(syscall.SIGSTOP)
		time.Sleep(300 * time.Millisecond)
		_ = sink.Process.Signal(syscall.SIGCONT)
	})
	sent, got := bothEnds(t, nil, from[0], to[0], when)
	stops.Wait()
	if got.Arrived.Lost == 0 {
		t.Fatalf("a sink that slept lost nothing of %d", sent.Packets)
	}
	var lost uint64
	for _, i := range got.Intervals {
		lost += i.Lost
	}
	if lost < got.Arrived.Lost/2 || lost > 2*got.Arrived.Lost { // the warm-up may have some, too
		t.Errorf("%d of %d were lost, %d by the intervals; %d were turned away", got.Arrived.Lost, sent.Packets, lost, sent.Offered.Refused)
	}
	if sent.Offered.Refused > sent.Packets {
		t.Errorf("%d were sent, and %d of them turned away: each counts once", sent.Packets, sent.Offered.Refused)
	}
}
