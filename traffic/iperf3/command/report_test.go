package command

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic/iperf3"
)

// TestAServerKeepsSoMuch of one client, says so on the way, and how much is missing.
func TestAServerKeepsSoMuch(t *testing.T) {
	const streams, over = 100, 7
	play := newScene(true, iperf3.UDP, forward, streams)
	play.start.Test.GetServerOutput = true
	var errs bytes.Buffer
	r := newReport(newScreen(io.Discard, &errs, output{json: true}), output{json: true}, true)
	r.Connected(play.start)
	for range mostKept/streams + over {
		r.Interval(play.intervals[0])
	}
	r.Ended(*play.end)
	if len(r.intervals) != mostKept/streams || r.leftOut != over || len(r.truth.disturbed) != mostKept/streams {
		t.Errorf("%d intervals and %d disturbed ones are kept, %d left out", len(r.intervals), len(r.truth.disturbed), r.leftOut)
	}
	_, transcript := r.Transcript()
	for _, text := range []string{string(transcript), compact(r.whole())} {
		if !strings.Contains(text, `"intervals_left_out":7`) {
			t.Errorf("it is not told in %.80s...", text)
		}
	}
	if n := strings.Count(errs.String(), "left out"); n != 1 {
		t.Errorf("said %d times: %s", n, errs.String())
	}
}

// TestFragmentsAreWarnedOf by a client whose datagrams fit into no packet.
func TestFragmentsAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		server bool
		length int
		warns  bool
	}{{false, 1448, false}, {false, 1449, true}, {true, 1449, false}} {
		play := newScene(c.server, iperf3.UDP, forward, 1)
		play.start.Test.Length, play.start.Test.Duration = c.length, time.Second
		var errs bytes.Buffer
		newText(newScreen(io.Discard, &errs, output{}), output{}, unmarked).asked(play.start)
		if warned := errs.String() == "warning: UDP block size 1449 exceeds TCP MSS 1448, may result in fragmentation / drops\n"; warned != c.warns {
			t.Errorf("%+v: %q", c, errs.String())
		}
	}
}

// TestABlockSizeIsToldWhereNobodyGaveIt, as by iperf3.
func TestABlockSizeIsToldWhereNobodyGaveIt(t *testing.T) {
	for args, want := range map[string]int{"-c h -u -V": 1, "-c h -u -V -l 1448": 0, "-c h -u -V -l 0": 1} {
		var out bytes.Buffer
		plays(newScene(false, iperf3.UDP, forward, 1)).command(t.Context(), strings.Fields(args), nil, &out, io.Discard, nil)
		if n := strings.Count(out.String(), "Setting UDP block size to 1448\n"); n != want {
			t.Errorf("%s: %d times, want %d", args, n, want)
		}
	}
}
