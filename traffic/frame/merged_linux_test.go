package frame

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
)

// aggregate is so many frames as GRO puts them together: the headers' lengths say all of it.
func aggregate(h header, frames int) []byte {
	s, b := newStamp(h)
	b = b[:s.write(b, number{phase: window})]
	payload := b[h.udpAt()+udpSize:]
	for range frames - 1 {
		b = append(b, payload...)
	}
	ip := b[ethernetSize:]
	if h.ipv6() {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-ipv6Size))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	}
	binary.BigEndian.PutUint16(b[h.udpAt()+4:], uint16(len(b)-h.udpAt()))
	return b
}

// TestAPacketSinkTellsOfAggregates: what came in one piece, as the interface's GRO puts UDP together where it is to forward it, passed
// for one corrupt frame, and the others for lost.
func TestAPacketSinkTellsOfAggregates(t *testing.T) {
	for _, from := range []netip.Addr{four, six} {
		h := testHeader(from, 40000, 7, 100, false)
		s := &packetSink{expected: expectedOf(h, 1), memory: newSequences(1)}
		b := aggregate(h, 5)
		s.take(b[:min(len(b), snapLength)], len(b))
		s.publish()
		w := &receiveWorker{sink: s, listener: &listener{}, device: device{name: "one"}}
		end, err := w.end(&course{}, reading{}, reading{}, parting{final: final{sent: 5, windowNS: 1e9}})
		if err != nil || end.Arrived.Corrupt+end.Arrived.Lost != 0 || !strings.Contains(end.Error, "5 frames came to af-packet as parts of aggregates") {
			t.Errorf("%v: %q, %+v", err, end.Error, end.Arrived)
		}
	}
}

// TestAnAggregateAnswersAProbe: it is no proof that no frame came by this way, and which frames cannot be counted is told in the end.
func TestAnAggregateAnswersAProbe(t *testing.T) {
	s := &counting{}
	s.probe.merged = 63
	ln := &listener{probed: probesCame(s, load{})}
	if n, err := ln.probed(); err != nil || n != 63 {
		t.Errorf("%d frames came: %v", n, err)
	}
}
