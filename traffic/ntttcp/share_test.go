package ntttcp

import (
	"context"
	"net"
	"testing"
	"time"
)

// TestStrangersTakeNoPort: whoever looks at the first port of a receiver with -sp, or talks to it, leaves all ports to the sender's threads.
func TestStrangersTakeNoPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := Receiver{test: &Test{Threads: []Thread{{Port: 6001}, {Port: 6002}}}}
	over := make(chan struct{})
	go func() { defer close(over); r.handPortsOut(t.Context(), listener) }()
	ask := func() net.Conn {
		conn, err := net.DialTimeout("tcp", listener.Addr().String(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		return conn
	}
	looks, talks, leaves := ask(), ask(), ask()
	looks.Close()
	talks.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
	if err := untilReadable(leaves); err != nil { // what it has been sent, and does not read
		t.Fatal(err)
	}
	leaves.Close()
	got := map[int]bool{}
	for range r.test.Threads {
		conn := ask()
		port, err := readPort(conn)
		if err != nil {
			t.Fatalf("%v got a port, the next: %v", got, err)
		}
		got[port] = true
		conn.Close()
	}
	if !got[6001] || !got[6002] {
		t.Errorf("handed out: %v", got)
	}
	<-over
}

// TestWhoKeepsAPortHoldsNoEndUp: a receiver that is interrupted ends at once.
func TestWhoKeepsAPortHoldsNoEndUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		(&Receiver{test: &Test{Threads: []Thread{{Port: 6001}}}}).handPortsOut(ctx, listener)
	}()
	conn, err := net.DialTimeout("tcp", listener.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := readPort(conn); err != nil {
		t.Fatal(err)
	}
	cancelled := time.Now()
	cancel()
	listener.Close()
	<-over
	if took := time.Since(cancelled); took > replyPatience/2 {
		t.Errorf("it took %s", took)
	}
}
