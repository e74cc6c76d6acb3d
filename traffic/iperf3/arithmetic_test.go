package iperf3

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"windtunnel/traffic/datagram"
)

// TestArithmetic sends datagrams in an order of its own, and wants iperf3's
// figures and the true ones.
func TestArithmetic(t *testing.T) {
	for _, c := range []struct {
		name                      string
		order                     []uint64
		highest, lost, outOfOrder int64
		real                      Arrivals
	}{
		{"whole", []uint64{1, 2, 3}, 3, 0, 0, Arrivals{Received: 3}},
		{"a gap", []uint64{1, 2, 5}, 5, 2, 0, Arrivals{Received: 3, Lost: 2}},
		{"the first missing", []uint64{3}, 3, 2, 0, Arrivals{Received: 1, Lost: 2}},
		{"reordered", []uint64{1, 3, 2, 4}, 4, 0, 1, Arrivals{Received: 4, Reordered: 1}},
		{"a duplicate hides a loss", []uint64{1, 2, 4, 4}, 4, 0, 1, Arrivals{Received: 3, Lost: 1, Duplicate: 1}},
		{"a duplicate of nothing lost", []uint64{1, 1, 1}, 1, 0, 2, Arrivals{Received: 1, Duplicate: 2}},
		{"all of it", []uint64{1, 2, 4, 3, 3, 6, 7, 7}, 7, 0, 3, Arrivals{Received: 6, Lost: 1, Reordered: 1, Duplicate: 2}},
		{"beyond 32 bits", []uint64{1, 1<<33 + 1}, 1<<33 + 1, 1<<33 - 1, 0, Arrivals{Received: 2, Lost: 1<<33 - 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(t, ServerOptions{})
			const size = 100
			h.datagrams(t, size, c.order)
			e := h.session(t, 1).end(t).Streams[0]
			u := e.UDP
			if e.Received.Bytes != uint64(size*len(c.order)) || u.ReceivedPackets != c.highest || u.Lost != c.lost || u.OutOfOrder != c.outOfOrder {
				t.Errorf("%d bytes, %+v", e.Received.Bytes, u)
			}
			if *u.True != c.real {
				t.Errorf("%+v; want %+v", *u.True, c.real)
			}
			if want := percent(c.lost, int64(len(c.order))); math.Abs(u.LostPercent-want) > 1e-9 {
				t.Errorf("%g %% lost, want %g", u.LostPercent, want)
			}
		})
	}
}

// datagrams is a whole test of a client that sends these numbers.
func (h *host) datagrams(t *testing.T, size int, order []uint64) {
	t.Helper()
	r := h.rude(t)
	// num makes the server read until nothing more comes.
	r.say(fmt.Sprintf(`{"udp":true,"num":1,"len":%d,"udp_counters_64bit":1}`, size))
	if err := r.expect(createStreams, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	data, err := net.Dial("udp", r.conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	data.Write([]byte("9876"))
	answer := make([]byte, 4)
	data.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(data, answer); err != nil || string(answer) != "6789" {
		t.Fatalf("%q, %v", answer, err)
	}
	for _, step := range []state{testStart, testRunning} {
		if err := r.expect(step, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	b := make([]byte, size)
	for i, seq := range order {
		header{wide: true}.Put(b, stampOf(int64(i)*second, seq))
		data.Write(b)
	}
	r.sendState(testEnd)
	if err := r.expect(exchangeResults, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	r.sendJSON(results{HasRetransmits: 0, Streams: []streamResult{{ID: 1, Bytes: uint64(size * len(order)), Packets: int64(len(order))}}})
	body, err := r.receiveJSON(maxResults, 5*time.Second)
	if err != nil || !json.Valid(body) {
		t.Fatalf("%s, %v", body, err)
	}
	if err := r.expect(displayResults, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	r.sendState(iperfDone)
}

// TestWhatTheSocketDropped is told in datagrams: the socket counts messages, which with GRO are many of them each, and no more than
// are lost. Each span has its own mean.
func TestWhatTheSocketDropped(t *testing.T) {
	at := func(packets, messages, lost, drops uint64) datagram.FlowCounts {
		return datagram.FlowCounts{Packets: packets, Calls: messages, Lost: lost, SocketDrops: drops}
	}
	for name, c := range map[string]struct {
		before, now datagram.FlowCounts
		want        uint64
	}{
		"aggregates of 60":     {now: at(30_000, 500, 15_300, 255), want: 15_300},
		"some of what is lost": {now: at(30_000, 500, 15_300, 25), want: 1500},
		"single ones":          {now: at(3000, 3000, 2656, 2000), want: 2000},
		"more than are lost":   {now: at(3000, 3000, 2656, 2780), want: 2656},
		"after what was omitted": {
			before: at(1000, 1000, 300, 300), now: at(31_000, 1500, 900, 305), want: 300,
		},
		"before nothing came": {now: at(0, 0, 0, 7)},
	} {
		streams := []*dataStream{{id: 1}}
		mover := &datagramMover{streams: streams, length: 1000}
		read := func(f datagram.FlowCounts) reading { return reading{streams: []counts{mover.counts(false, f)}} }
		tally := newTally(Test{Protocol: UDP, Length: 1000}, streams, time.Now())
		tally.reset(read(c.before))
		now := read(c.now)
		e := End{Streams: []StreamEnd{tally.streamEnd(0, streams[0], now, streamResult{}, false)}}
		if got := e.pair(Start{}).Arrived; got.SocketDrops != c.want || got.Lost != c.now.Lost-c.before.Lost {
			t.Errorf("%s: %d of %d lost ones were dropped in the socket; want %d", name, got.SocketDrops, got.Lost, c.want)
		}
		if got := tally.interval(now).Streams[0].UDP.True.SocketDrops; got != c.want {
			t.Errorf("%s: %d in the interval; want %d", name, got, c.want)
		}
	}
}
