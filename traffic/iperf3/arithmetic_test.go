package iperf3

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"time"
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
