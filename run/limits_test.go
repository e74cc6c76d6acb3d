package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"windtunnel/result"
	"windtunnel/testbed"
)

// hanging is a node of which only some calls answer; the others wait until their
// caller gives up.
type hanging struct {
	Node
	name    string
	answers bool
	asked   int
	takes   time.Duration // until it answers
	clock   *clock
}

// clock goes on by an hour whenever somebody gave up.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (h *hanging) Name() string                    { return h.name }
func (h *hanging) Fingerprint() result.Fingerprint { return nil }

func (h *hanging) wait(ctx context.Context) error {
	h.asked++
	if h.answers {
		select {
		case <-time.After(h.takes):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	<-ctx.Done()
	h.clock.now = h.clock.now.Add(time.Hour)
	return ctx.Err()
}

func (h *hanging) Place(ctx context.Context, _ Graph) (map[string]string, error) {
	return nil, h.wait(ctx)
}
func (h *hanging) Stop(ctx context.Context, _ string) error                      { return h.wait(ctx) }
func (h *hanging) Apply(ctx context.Context, _ Graph, _ map[string]string) error { return h.wait(ctx) }

// quiet keeps what it is told.
type quiet struct {
	Progress
	cells []result.Cell
	end   result.End
}

func (*quiet) Building(string)                  {}
func (*quiet) Say(string)                       {}
func (*quiet) Run(result.Run) error             { return nil }
func (*quiet) Search(result.Search) error       { return nil }
func (*quiet) Latency(result.LatencyAt) error   { return nil }
func (*quiet) EqualRate(result.EqualRate) error { return nil }
func (*quiet) Trial(result.Trial) error         { return nil }
func (q *quiet) Cell(c result.Cell) error       { q.cells = append(q.cells, c); return nil }
func (q *quiet) End(e result.End) error         { q.end = e; return nil }
func (*quiet) Profile(result.Profile) error     { return nil }

type tells struct{ *quiet }

func (tells) Trial(result.Trial, int, time.Duration) {}

func hung(budget time.Duration, cells ...string) (*Conductor, *hanging, *hanging, *quiet) {
	now := &clock{}
	a, b := &hanging{name: "a", answers: true}, &hanging{name: "b", clock: now}
	out := &quiet{}
	c := &Conductor{Nodes: []Node{a, b}, Clock: now, Out: out, Progress: tells{out},
		Plan: Plan{Times: result.Plan{BudgetSeconds: budget.Seconds(), WindowSeconds: 1},
			Nodes: []result.RunNode{{Name: "a"}, {Name: "b"}}}}
	for _, name := range cells {
		p := PlannedCell{Record: result.Cell{Name: name}}
		p.Laid.Graph = Graph{Cell: name, Nodes: []testbed.Node{{Name: "a"}, {Name: "b"}}}
		c.Plan.Cells = append(c.Plan.Cells, p)
	}
	return c, a, b, out
}

// TestANodeThatHangsEndsTheBuilding, in time, and every cell is on record.
func TestANodeThatHangsEndsTheBuilding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, out := hung(closingTime+100*time.Millisecond, "A", "B")
		began := time.Now()
		end, err := c.Run(context.Background())
		if !errors.Is(err, context.DeadlineExceeded) || end.Why != EndFailed || time.Since(began) > 2*teardownLeast+time.Second {
			t.Errorf("%+v, %v after %s", end, err, time.Since(began))
		}
		if len(out.cells) != 2 || !strings.Contains(out.cells[0].Failed, "give a longer --budget") || out.cells[1].Failed != "the run ended before it was built" {
			t.Errorf("cells %+v", out.cells)
		}
	})
}

// TestALostNodeIsAskedOnce: each cell's teardown would wait for it in vain.
func TestALostNodeIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a, b, _ := hung(-time.Hour, "A", "B", "C")
		began := time.Now()
		err := c.restore(c.teardownLimit(), c.Plan.Cells...)
		if err == nil || strings.Count(err.Error(), "taking cell") != 1 {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > teardownLeast || b.asked != 1 || a.asked != 6 {
			t.Errorf("a was asked %d times, b %d, in %s", a.asked, b.asked, took)
		}
	})
}

// TestManyCellsMayTakeLongToGo: each answers within the limit, and all of them together do not.
func TestManyCellsMayTakeLongToGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, a, b, _ := hung(time.Minute, "A", "B", "C", "D", "E", "F")
		a.takes, b.answers, b.takes = 100*time.Millisecond, true, 100*time.Millisecond
		if err := c.restore(time.Second, c.Plan.Cells...); err != nil || a.asked != 12 || b.asked != 12 {
			t.Errorf("a was asked %d times, b %d: %v", a.asked, b.asked, err)
		}
	})
}

// TestAnInterruptedRunTellsWhatItLeft: Ctrl-C is no error, a teardown that failed
// is.
func TestAnInterruptedRunTellsWhatItLeft(t *testing.T) {
	c, _, _, out := hung(time.Minute, "A", "B")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	end, err := c.Run(ctx)
	if err != nil || end.Why != EndInterrupted || len(out.cells) != 2 {
		t.Errorf("%+v, %v, %d cells", end, err, len(out.cells))
	}
}
