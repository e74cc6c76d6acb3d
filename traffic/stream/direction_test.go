package stream

import (
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/traffic"
)

func TestEveryDirection(t *testing.T) {
	for _, direction := range []string{"forward", "reverse", "both"} {
		t.Run(direction, func(t *testing.T) {
			send, receive, s, r := runWell(t, result.Options{"direction": direction, "streams": 3, "threads": 2}, soon)
			for _, got := range []outcome{s, r} {
				checkEnd(t, got.end, 3)
				if (got.end.Opposite != nil) != (direction == "both") {
					t.Errorf("the opposite direction is %+v", got.end.Opposite)
				}
			}
			if direction == "both" {
				checkEnd(t, *s.end.Opposite, 3)
				checkEnd(t, *r.end.Opposite, 3)
			}
			if forwards := direction != "reverse"; (s.end.Offered != nil) != forwards || (r.end.Offered == nil) != forwards {
				t.Errorf("%s: who offers is wrong: %+v, %+v", direction, s.end.Offered, r.end.Offered)
			}
			checkMoved(t, send, receive)
		})
	}
}

func TestDirectionsMustAgree(t *testing.T) {
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"direction": "both"}, Address: "127.0.0.1"})
	_, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Send, Load: result.Options{"congestion": congestion}, Address: receive.Address()})
	if err == nil || !strings.Contains(err.Error(), "another direction") {
		t.Errorf("got %v", err)
	}
}

func TestIPv6(t *testing.T) {
	load := result.Options{"congestion": congestion}
	w, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Load: load, Address: "::1"})
	if err != nil {
		t.Skip("this machine has no IPv6 loopback: ", err)
	}
	defer w.Close()
	if !strings.HasPrefix(w.Address(), "[::1]:") {
		t.Fatalf("listens on %s", w.Address())
	}
	send := prepare(t, traffic.Order{Role: traffic.Send, Address: w.Address()})
	s, r := runBoth(t.Context(), send, w.(*worker), ample())
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" || r.end.Bytes == 0 {
		t.Errorf("got %+v and %+v", s, r)
	}
}
