package stream

import (
	"io"
	"net"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestABurstEndsWhereItsPeerBecomesSlow: how many calls it makes comes of how long those before took, and a peer that was fast may give or
// take little from one call to the next. Until the burst ends it holds up whoever stops the world, and with it all of a server's clients.
func TestABurstEndsWhereItsPeerBecomesSlow(t *testing.T) {
	for name, c := range map[string]struct {
		role  traffic.Role
		flows int
	}{"receiving one": {traffic.Receive, 1}, "receiving several": {traffic.Receive, 2}, "sending one": {traffic.Send, 1}, "sending several": {traffic.Send, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far := connected(t, c.flows)
			for i := range far {
				near[i].SetWriteBuffer(32 << 10)
				far[i].SetReadBuffer(32 << 10)
			}
			e := newTestEngine(t, flowsOf(near, c.role), Config{Message: 4 << 10})
			slow, err := newThread(e, c.role, e.of(c.role))
			if err != nil {
				t.Fatal(err)
			}
			defer slow.close()
			slow.bound = burstCalls
			over := make(chan error)
			go func() {
				_, err := slow.burst(&traffic.Stop{})
				over <- err
			}()
			trickle := time.NewTicker(20 * time.Millisecond)
			defer trickle.Stop()
			for range 150 { // 3 s
				select {
				case err := <-over:
					if err != nil {
						t.Error(err)
					}
					return
				case <-trickle.C:
					for _, conn := range far {
						move(conn, c.role)
					}
				}
			}
			t.Error("the burst goes on after 3 s of a trickle")
			e.cut()
			<-over
		})
	}
}

// move gives a receiver a little, or takes it from a sender.
func move(peer net.Conn, role traffic.Role) {
	if role == traffic.Receive {
		peer.Write(make([]byte, 100))
		return
	}
	peer.SetReadDeadline(time.Now().Add(time.Millisecond))
	io.ReadFull(peer, make([]byte, 6<<10))
}
