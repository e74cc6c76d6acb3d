package ntttcp

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"windtunnel/traffic"
)

// freePorts finds a base so that everything from base-1 to base+n and the token
// ports above were free a moment ago.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for base := 20000 + int(time.Now().UnixNano()/1000%20000); base < 60000; base += n + 7 {
		if portsFree(base-1, n+2) && portsFree(base+tokenOffset, n+1) {
			return base
		}
	}
	t.Fatal("no free ports")
	return 0
}

func portsFree(from, n int) bool {
	for port := from; port < from+n; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// pairOf is a sender and a receiver of one test on loopback.
func pairOf(t *testing.T, sync Sync, threads, connections int) (send, receive Test) {
	base := freePorts(t, threads)
	both := Test{Sync: sync, Message: 64 << 10, SendBuffer: -1, ReceiveBuffer: -1, Run: time.Second}
	for i := range threads {
		both.Threads = append(both.Threads, Thread{Host: "127.0.0.1", Port: base + i, CPU: -1, Connections: connections})
	}
	send, receive = both, both
	send.Role, receive.Role = traffic.Send, traffic.Receive
	receive.Exact = sync == SyncWindows
	return send, receive
}

// runPair runs both ends; the receiver listens before the sender starts.
func runPair(t *testing.T, send, receive Test) (sent, received Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := receive.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var both sync.WaitGroup
	both.Go(func() {
		if received, err = r.Run(ctx); err != nil {
			t.Errorf("receiving: %v", err)
		}
	})
	var failed error
	if sent, failed = Run(ctx, send); failed != nil {
		t.Errorf("sending: %v", failed)
		cancel()
	}
	both.Wait()
	return sent, received
}

func TestPairsMoveTheSameBytes(t *testing.T) {
	for name, sync := range map[string]Sync{"linux": SyncLinux, "windows": SyncWindows, "none": SyncNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, receive := pairOf(t, sync, 3, 1)
			sent, received := runPair(t, send, receive)
			t.Logf("%+v\n%+v", sent, received)
		})
	}
}
