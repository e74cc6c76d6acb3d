package stream

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestASessionWithoutFilesIsTold at all its connections, whichever was the one for which there was no file, and in whatever order they speak.
func TestASessionWithoutFilesIsTold(t *testing.T) {
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"streams": 3}, Address: "127.0.0.1"})
	ln := receive.listener
	session := token{1, 2, 3}
	greeting := func(i uint32) []byte {
		b := hello{Version: version, Direction: forward, Index: i, Total: 3, Token: session}.encode()
		return b[:]
	}
	come := func(to string, b []byte) net.Conn {
		conn, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write(b)
		return conn
	}
	first := come(receive.Address(), greeting(0))
	for in := false; !in; {
		ln.mu.Lock()
		in = ln.lobby.Find(session) != nil
		ln.mu.Unlock()
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	lacks := come(door.Addr().String(), nil)
	last, err := door.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ln.lack(greeting(1), last)
	late := come(receive.Address(), greeting(2))
	for which, conn := range map[string]net.Conn{"the first": first, "the one without a file": lacks, "one that spoke later": late} {
		b := make([]byte, answerSize)
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Errorf("%s: %v", which, err)
			continue
		}
		if err := decodeAnswer(b); err == nil || !strings.Contains(err.Error(), "no more files") {
			t.Errorf("%s is told %v", which, err)
		}
	}
}
