package agent

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/traffic"
)

// lasting is a worker that notes what becomes of it.
type lasting struct {
	did  []string
	fail error // of Renew
	says string
	once bool
}

func (l *lasting) Address() string { return "" }

func (l *lasting) Run(context.Context, traffic.Schedule) (result.PairEnd, error) {
	l.did = append(l.did, "run")
	return result.PairEnd{Error: l.says}, nil
}

func (l *lasting) Renewable() bool { return !l.once }

func (l *lasting) Renew(context.Context, traffic.Order) error {
	l.did = append(l.did, "renew")
	return l.fail
}

func (l *lasting) Close() error {
	l.did = append(l.did, "close")
	return nil
}

// TestAWorkerIsKept as long as orders say that more follow, and it did its work.
func TestAWorkerIsKept(t *testing.T) {
	of := endOf{place: "s", role: traffic.Send}
	for name, c := range map[string]struct {
		worker lasting
		keep   bool
		next   func(*worker) traffic.Worker
		did    []string
		again  bool
	}{
		"for the next":         {lasting{}, true, func(w *worker) traffic.Worker { return w.renewed(t.Context(), of, traffic.Order{Keep: true}) }, []string{"run", "renew"}, true},
		"the last":             {lasting{}, true, func(w *worker) traffic.Worker { return w.renewed(t.Context(), of, traffic.Order{}) }, []string{"run", "close"}, false},
		"for another end":      {lasting{}, true, func(w *worker) traffic.Worker { return w.renewed(t.Context(), endOf{}, traffic.Order{Keep: true}) }, []string{"run"}, false},
		"what will not do":     {lasting{fail: errors.New("x")}, true, func(w *worker) traffic.Worker { return w.renewed(t.Context(), of, traffic.Order{Keep: true}) }, []string{"run", "renew", "close"}, false},
		"not what went wrong":  {lasting{says: "x"}, true, func(w *worker) traffic.Worker { return w.renewed(t.Context(), of, traffic.Order{Keep: true}) }, []string{"run", "close"}, false},
		"not what cannot be":   {lasting{once: true}, true, func(w *worker) traffic.Worker { return w.renewed(t.Context(), of, traffic.Order{Keep: true}) }, []string{"run", "close"}, false},
		"not where none waits": {lasting{}, false, func(w *worker) traffic.Worker { return w.renewed(t.Context(), of, traffic.Order{Keep: true}) }, []string{"run", "close"}, false},
		"until a stop":         {lasting{}, true, func(w *worker) traffic.Worker { w.drop(); return nil }, []string{"run", "close"}, false},
	} {
		w := &worker{prepared: []preparedEnd{{of, &c.worker, c.keep}}}
		w.start(t.Context(), proto.Request{Start: &proto.Start{WindowSeconds: time.Millisecond.Seconds()}})
		w.result(t.Context())
		if got := c.next(w); (got != nil) != c.again || !slices.Equal(c.worker.did, c.did) {
			t.Errorf("%s: again %v, it did %v, want %v", name, got != nil, c.worker.did, c.did)
		}
	}
}

// TestAStopClosesWhatATrialKeeps, though nobody has asked for its result.
func TestAStopClosesWhatATrialKeeps(t *testing.T) {
	l := &lasting{}
	w := &worker{prepared: []preparedEnd{{endOf{}, l, true}}}
	w.start(t.Context(), proto.Request{Start: &proto.Start{}})
	w.drop()
	if !slices.Equal(l.did, []string{"run", "close"}) {
		t.Error(l.did)
	}
}
