package frame

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"windtunnel/result"
)

// counting is a sink that has counted what a test says.
type counting struct{ all, probe totals }

func (c *counting) tally() (t tally, err error) {
	t.phases[window], t.phases[probing] = c.all, c.probe
	return t, nil
}
func (c *counting) method() (how, why string) { return "fake", "" }
func (c *counting) close() error              { return nil }

// TestRefusedFramesAreNotLost: what the sender's device refused has numbers that never
// come, and the sender tells it a little later; neither an interval nor a session that
// ends early calls it lost.
func TestRefusedFramesAreNotLost(t *testing.T) {
	sink := &counting{}
	w := &receiveWorker{sink: sink, listener: &listener{}}
	sofar := w.sofar()
	for _, step := range []struct{ came, skipped, told, lost uint64 }{
		{100, 0, 0, 0},
		{200, 40, 0, 0},   // 40 were refused, which is not told yet
		{300, 55, 40, 0},  // ten more were refused, and five lost
		{400, 60, 40, 0},  // five more were lost, and word is late
		{500, 60, 50, 5},  // the first five show
		{600, 60, 50, 10}, // and the others
	} {
		sink.all.packets, sink.all.skipped = step.came, step.skipped
		w.listener.refused.Store(step.told)
		if packets, lost := sofar(); packets != step.came || lost != step.lost {
			t.Errorf("%+v: %d came, %d lost", step, packets, lost)
		}
	}
	before, used := reading{told: 40}, reading{}
	used.all.packets, used.all.skipped = 600, 25 // 15 of them refused
	w.listener.refused.Store(55)
	w.listener.all.Store(true)
	end, err := w.end(&course{}, before, used, parting{err: errClosed})
	if err != nil || end.Arrived.Lost != 10 {
		t.Errorf("%v: %+v", err, end.Arrived)
	}
}

// TestASenderThatEndsWithoutAWord: what its device refused since its last word had numbers, and counted as lost on the path.
func TestASenderThatEndsWithoutAWord(t *testing.T) {
	for name, c := range map[string]struct {
		missing, told uint64
		all           bool
		lost          uint64
		known         bool
	}{
		"killed":                       {100, 40, false, 0, false},
		"killed, and nothing is amiss": {0, 0, false, 0, true},
		"stopped":                      {100, 40, true, 60, true},
	} {
		sink := &counting{}
		w := &receiveWorker{sink: sink, listener: &listener{last: make(chan parting, 1)}}
		w.listener.refused.Store(c.told)
		w.listener.all.Store(c.all)
		gone := parting{err: errClosed}
		w.listener.last <- gone
		var used reading
		used.all.packets, used.all.skipped = 1000, c.missing
		end, err := w.end(&course{}, reading{}, used, gone)
		a := end.Arrived
		if known := !slices.Contains(a.Untold, result.Loss); err != nil || a.Lost != c.lost || a.Expected != 1000+c.lost || known != c.known || known != (a.Why == "") {
			t.Errorf("%s: %v: %+v", name, err, a)
		}
	}
}

// TestWhatIsRefusedIsKnownWhereItHasNoNumber, whenever the sender ends; and of live frames when it has stopped them.
func TestWhatIsRefusedIsKnownWhereItHasNoNumber(t *testing.T) {
	for _, c := range []struct {
		method    string
		over, all bool
	}{{byXDP, false, false}, {byXDP, true, true}, {byPacket, false, true}} {
		here, there := net.Pipe()
		w := &sendWorker{method: c.method, session: &session{control: here}}
		ln := &listener{last: make(chan parting, 1), told: make(chan struct{}, 1)}
		var serving sync.WaitGroup
		serving.Go(func() { ln.last <- ln.serve(there) })
		w.tellRefused(&engine{}, c.over)
		here.Close()
		serving.Wait()
		if known := ln.knowsRefused(); known != c.all {
			t.Errorf("by %s, over %t: known %t", c.method, c.over, known)
		}
	}
}

// TestMoreCameThanWasSent: somebody else's frames of the session, with numbers that are not taken yet, made 6000 a second of 5000, of which
// none was lost.
func TestMoreCameThanWasSent(t *testing.T) {
	sink := &counting{}
	sink.all.packets = 12_000
	w := &receiveWorker{sink: sink, listener: &listener{}}
	for sent, told := range map[uint64]bool{10_000: true, 12_000: false, 12_001: false} {
		end, err := w.end(&course{}, reading{}, reading{}, parting{final: final{sent: sent, windowNS: 2e9}})
		if err != nil || strings.Contains(end.Error, "more than the 10000 that the sender says it sent") != told || !told && end.Error != "" {
			t.Errorf("%d sent: %v: %q", sent, err, end.Error)
		}
	}
}
