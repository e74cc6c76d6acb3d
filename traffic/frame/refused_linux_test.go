package frame

import (
	"strings"
	"testing"
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
	end, err := w.end(&course{}, before, used, parting{err: errClosed})
	if err != nil || end.Arrived.Lost != 10 {
		t.Errorf("%v: %+v", err, end.Arrived)
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
