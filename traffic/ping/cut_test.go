package ping

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestWhatIsUnderWayAtACutIsNotLost cancels runs of which requests are under way, far within the wait: nobody knows what would have become of them.
func TestWhatIsUnderWayAtACutIsNotLost(t *testing.T) {
	for engine := range engines {
		for name, c := range map[string]struct {
			load     result.Options
			underWay int
		}{
			"open TCP":          {result.Options{"rate": 1000.0}, 50},
			"open UDP":          {result.Options{"protocol": "udp", "rate": 1000.0}, 50},
			"closed TCP":        {result.Options{}, 1},
			"closed UDP":        {result.Options{"protocol": "udp", "message": 8}, 1},
			"closed TCP, depth": {result.Options{"depth": 8}, 8},
		} {
			if engine == "portable" && c.load.Int("depth") > 1 {
				continue
			}
			c.load["wait"] = 30.0
			t.Run(engine+" "+name, func(t *testing.T) {
				end, when, err := cutRun(t, engine, c.load, c.underWay)
				for try := 1; try < 5 && err != nil && end.Packets == 0; try++ { // a busy machine noticed the window only after the cut
					end, when, err = cutRun(t, engine, c.load, c.underWay)
				}
				if err == nil || end.Error == "" || end.Packets == 0 {
					t.Fatalf("no counts beside the reason: %v, %+v", err, end)
				}
				if a := end.Arrived; a.Lost+a.Late != 0 || a.Expected != end.Packets || end.Offered.Refused != 0 {
					t.Errorf("%d answered, then cut: %+v, %d refused", end.Packets, a, end.Offered.Refused)
				}
				checkSums(t, end)
				if last, ran := end.Intervals[len(end.Intervals)-1], time.Since(when.Start.Add(when.WarmUp)).Seconds(); last.To > ran {
					t.Errorf("%d intervals, the last until %g s, of a run of %g s", len(end.Intervals), last.To, ran)
				}
			})
		}
	}
}

// cutRun is a run that is cut when so many requests of its window are under way.
func cutRun(t *testing.T, engine string, load result.Options, underWay int) (end result.PairEnd, when traffic.Schedule, err error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	counts, once, held := make(chan struct{}), sync.Once{}, 0
	hold := func() bool { // no answer any more once the window has some; when enough are under way the run is cut
		select {
		case <-counts:
			if held++; held == underWay {
				cancel()
			}
			return true
		default:
			return false
		}
	}
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: holder(t, load, hold)})
	send.make = engines[engine]
	when = soon(time.Minute)
	when.Interval = 20 * time.Millisecond
	when.Observe = func(i result.Interval) {
		if i.From >= 0 && i.Packets > 0 {
			once.Do(func() { close(counts) })
		}
	}
	end, err = send.Run(ctx, when)
	return end, when, err
}

// holder is the address of a receiver whose answers may be held back for good.
func holder(t *testing.T, o result.Options, hold func() bool) string {
	if o.Text("protocol") != overUDP {
		return peerOf(t, func(conn net.Conn) {
			b := make([]byte, 1)
			for {
				if _, err := io.ReadFull(conn, b); err != nil {
					return
				}
				if !hold() {
					conn.Write(b)
				}
			}
		})
	}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { receive.Run(ctx, soon(time.Minute)) })
	t.Cleanup(func() { stop(); answering.Wait() })
	return relayDatagrams(t, receive.Address(), hooks{forth: func(uint64) int {
		if hold() {
			return 0
		}
		return 1
	}}).address()
}

// TestOnlyAPassedWaitIsALoss ends a tally at several times.
func TestOnlyAPassedWaitIsALoss(t *testing.T) {
	const ms = int64(time.Millisecond)
	l := load{rate: 1, wait: 20 * time.Millisecond}
	p := plan{from: 0, to: 100 * ms, stop: 150 * ms}
	for name, c := range map[string]struct {
		r    request
		now  int64
		lost uint64
	}{
		"just sent":                 {request{intended: 50 * ms, sent: 50 * ms, state: open}, 51 * ms, 0},
		"sent late, within wait":    {request{intended: 20 * ms, sent: 50 * ms, state: open}, 60 * ms, 0},
		"waited for":                {request{intended: 50 * ms, sent: 50 * ms, state: open}, 70 * ms, 1},
		"due":                       {request{intended: 50 * ms, state: due}, 69 * ms, 0},
		"due for long":              {request{intended: 50 * ms, state: due}, 70 * ms, 1},
		"in the tail":               {request{intended: 99 * ms, sent: 99 * ms, state: open}, 110 * ms, 0},
		"sent late, not waited for": {request{intended: 99 * ms, sent: 160 * ms, state: open}, 179 * ms, 0},
		"sent late, at the end":     {request{intended: 99 * ms, sent: 160 * ms, state: open}, 180 * ms, 1},
		"not of the window at all":  {request{intended: 100 * ms, sent: 100 * ms, state: open}, 170 * ms, 0},
	} {
		for _, stream := range []bool{true, false} {
			for _, broken := range []bool{false, true} {
				want := c.lost
				if broken && p.holds(c.r.intended) {
					want = 1 // nothing more is answered
				}
				flow := outstanding{ring: []request{c.r}, next: 1}
				tl := newTally(l, p)
				tl.leave(&flow, c.now, stream, broken)
				if o := sum([]*tally{tl}); o.lost != want || o.requests() != want {
					t.Errorf("%s, a stream %t, broken %t: %d lost of %d, want %d", name, stream, broken, o.lost, o.requests(), want)
				}
			}
		}
	}
}
