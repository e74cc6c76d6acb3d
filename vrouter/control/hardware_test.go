package control

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/offload"
)

// fakeBoard is a switchboard without devices.
type fakeBoard struct {
	offers    map[uint32]error
	given     []offload.Given
	asked     int
	keepsThem error
	failsBy   error // giving does
	tries     int
	taken     offload.Account
}

func (b *fakeBoard) Offers() map[uint32]error { b.asked++; return b.offers }

func (b *fakeBoard) Target() offload.Target  { return offload.RTEFlow }
func (b *fakeBoard) Taken() *offload.Account { return &b.taken }

func (b *fakeBoard) GiveRules(plan offload.Plan) error {
	b.tries++
	for i, r := range plan.Rules {
		b.given = append(b.given, offload.Given{Rule: r, Taken: i%2 == 0, Why: map[bool]string{false: "full"}[i%2 == 0]})
	}
	return b.failsBy
}

func (b *fakeBoard) WithdrawRules() error   { b.given = nil; return b.keepsThem }
func (b *fakeBoard) CountRules() error      { return nil }
func (b *fakeBoard) Rules() []offload.Given { return b.given }

func hardwareAgent(t *testing.T, board *fakeBoard) *Agent {
	t.Helper()
	text := `{"format":1,"name":"a","offload":"auto","fabric":{"interface":"wire0","address":"10.0.0.1"},
		"networks":[{"name":"n","subnet":"10.0.1.0/24","gateway":"10.0.1.254"}],
		"ports":[{"name":"p","interface":"v-p","network":"n","address":"10.0.1.3","mac":"02:00:00:00:01:03","label":16},
			{"name":"q","interface":"v-q","network":"n","address":"10.0.1.4","mac":"02:00:00:00:01:04","label":17}]}`
	c, err := config.Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	facts := config.Facts{FabricIfindex: 1, FabricMTU: 1500, Interfaces: map[string]config.Interface{"v-p": {Ifindex: 2, MTU: 1500}, "v-q": {Ifindex: 3, MTU: 1500}}}
	image, err := c.Image(facts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	return &Agent{config: c, image: image, facts: facts, settled: true, hardware: hardware{board: board}}
}

// TestRulesWaitForTheTables: rules are given once the tables were left alone, to those who take them, and are
// gone before the next change.
func TestRulesWaitForTheTables(t *testing.T) {
	board := &fakeBoard{offers: map[uint32]error{0: errors.New("no switch"), 1: nil, 2: errors.New("no switch")}}
	a := hardwareAgent(t, board)
	a.withdraw()
	if err := a.rulesLocked(); err != nil || board.asked != 0 {
		t.Errorf("amid changes devices were asked %d times: %v", board.asked, err)
	}
	if o := a.offloadStatus(); o.Settled {
		t.Errorf("%+v is settled", o)
	}
	a.hardware.changed = time.Now().Add(-2 * settle)
	if err := a.rulesLocked(); err != nil || len(board.given) == 0 {
		t.Fatalf("%d rules were given: %v", len(board.given), err)
	}
	if i := slices.IndexFunc(board.given, func(g offload.Given) bool { return g.Vif != 1 }); i >= 0 {
		t.Errorf("a rule for who takes none: %+v", board.given[i])
	}
	board.taken.Take(board.given[0].Rule, core.Count{Packets: 3, Segments: 3, Bytes: 300})
	o := a.offloadStatus()
	if port := o.Ports[1]; port.Port != "p" || port.Rules != o.Rules || port.Received.Packets != 3 || o.Forwarded.Bytes != 300 || o.Dropped.Packets != 0 {
		t.Errorf("of 3 packets that rules took: %+v", o)
	}
	if taken := (len(board.given) + 1) / 2; !o.Settled || o.Rules != taken || o.Refused[0] != (OffloadReason{"full", len(board.given) - taken}) {
		t.Errorf("%d rules were given, and the status has %+v", len(board.given), o)
	}
	if rules, err := a.Rules(2); err != nil || len(rules.Rules) != 2 || rules.All != len(board.given) {
		t.Errorf("%+v: %v", rules, err)
	}
	if a.withdraw(); len(board.given) != 0 || a.hardware.given {
		t.Errorf("%d rules are left", len(board.given))
	}
}

// TestKeptRuleIsAProblem: a device that did not let go of a rule is the status' problem until there are others.
func TestKeptRuleIsAProblem(t *testing.T) {
	board := &fakeBoard{offers: map[uint32]error{1: nil}, keepsThem: errors.New("the device is deaf")}
	a := hardwareAgent(t, board)
	a.withdraw()
	if err := a.rulesLocked(); err == nil || !strings.Contains(err.Error(), "deaf") {
		t.Errorf("%v", err)
	}
	a.hardware.changed = time.Now().Add(-2 * settle)
	if err := a.rulesLocked(); err != nil {
		t.Error(err)
	}
}

// TestRulesThatCouldNotBeGivenAreTriedAgain, after rests that grow up to a bound, none of them twice at a device, until they are
// given, and from the shortest rest on after a change.
func TestRulesThatCouldNotBeGivenAreTriedAgain(t *testing.T) {
	board := &fakeBoard{offers: map[uint32]error{1: nil}, failsBy: errors.New("no buffer space")}
	a := hardwareAgent(t, board)
	h := &a.hardware
	look := func(after time.Duration) error {
		h.changed, h.failed = h.changed.Add(-after), h.failed.Add(-after)
		return a.rulesLocked()
	}
	a.withdraw()
	rest := leastRest
	for try := range 9 {
		if err := look(max(rest, settle)); err == nil || board.tries != try+1 {
			t.Fatalf("try %d of %d: %v", board.tries, try+1, err)
		}
		rules := len(board.given)
		if rest = min(leastRest<<try, mostRest); h.rest != rest || rules == 0 {
			t.Errorf("after try %d it rests for %s, want %s; %d rules", try+1, h.rest, rest, rules)
		}
		if err := look(rest / 2); err == nil || board.tries != try+1 || len(board.given) != rules {
			t.Errorf("within the rest after try %d: %v, %d tries, %d rules", try+1, err, board.tries, len(board.given))
		}
	}
	board.keepsThem = errors.New("the device is deaf")
	if err := look(mostRest); !errors.Is(err, board.keepsThem) || board.tries != 9 {
		t.Errorf("rules that a device keeps were given again: %v, try %d", err, board.tries)
	}
	board.keepsThem, board.failsBy = nil, nil
	if err := look(mostRest); err != nil || board.tries != 10 || h.rest != 0 {
		t.Errorf("try %d: %v, and it rests for %s", board.tries, err, h.rest)
	}
	if err := look(time.Hour); err != nil || board.tries != 10 {
		t.Errorf("rules that are given: %v, try %d", err, board.tries)
	}
	a.withdraw()
	board.failsBy = errors.New("no buffer space")
	if err := look(settle); err == nil || h.rest != leastRest {
		t.Errorf("after a change: %v, and it rests for %s", err, h.rest)
	}
}

// TestOffloadOff: nobody is asked where nobody has to be.
func TestOffloadOff(t *testing.T) {
	board := &fakeBoard{offers: map[uint32]error{1: nil}}
	a := hardwareAgent(t, board)
	a.config.Offload = config.OffloadOff
	a.hardware.changed = time.Now().Add(-2 * settle)
	if err := a.rulesLocked(); err != nil || board.asked != 0 || len(board.given) != 0 || a.offloadStatus() != nil {
		t.Errorf("%v; asked %d times", err, board.asked)
	}
}
