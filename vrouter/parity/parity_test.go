package parity

import (
	"bytes"
	"flag"
	"fmt"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

var (
	count = flag.Int("frames", 20_000, "how many random frames TestRandomPackets makes")
	seed  = flag.Uint64("seed", 1, "what they are made from")
)

// atOnce is how many frames the movers have between two looks at all their counters.
const atOnce = 500

// enough differences are shown.
const enough = 5

// TestRandomPackets: what both modes make of the golden frames and of random ones is the same to the
// byte, outer identification, source port and flags among them; so are the drops' names, the copies of
// what is for all, and all counters.
func TestRandomPackets(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	flows, _ := golden.LoadFlow(t)
	quotes, several := golden.LoadQuotes(t)
	c.Routes = several.Routes
	for _, q := range quotes {
		cases = append(cases, golden.Case{At: q.At, In: q.Error}, golden.Case{At: q.At, In: q.Flow})
	}
	p := newPair(t, c, append(cases, flows...))
	p.compareAll(*count)
	for _, what := range []string{"passed", "sent to fabric", "sent to a port", "sent to several", "sent to whom it came from"} {
		if want := *count / 200; p.seen[what] < want {
			t.Errorf("%d frames were %s, not %d or more", p.seen[what], what, want)
		}
	}
	if len(p.seen) < 50 {
		t.Errorf("frames ended in %d ways", len(p.seen))
	}
}

// TestRandomFlows: the same of ports in flow mode, whose packets make flows, belong to them, or are denied.
func TestRandomFlows(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.LoadFlow(t)
	p := newPair(t, c, cases)
	p.compareAll(*count / 4)
	for _, what := range []string{"sent to fabric", "sent to a port", "policy_denied"} {
		if want := *count / 1000; p.seen[what] < want {
			t.Errorf("%d frames were %s, not %d or more", p.seen[what], what, want)
		}
	}
	if a, b := p.tc.flows(), p.stand.flows(); a != b || a == 0 {
		t.Errorf("tc has %d flows, the poll mode %d", a, b)
	}
}

// pair is both modes.
type pair struct {
	t     *testing.T
	from  *source
	tc    *tc
	stand *stand
	seen  map[string]int // outcomes
	shown int
}

func newPair(t *testing.T, c config.Config, cases []golden.Case) *pair {
	t.Helper()
	m := newTC(t, c)
	return &pair{t: t, from: newSource(t, *seed, c, cases), tc: m, stand: newStand(t, c, m.ifindex), seen: map[string]int{}}
}

// compareAll gives them the golden frames, as many random ones, and compares all counters.
func (p *pair) compareAll(count int) {
	p.t.Helper()
	p.compare(p.from.golden)
	for done := 0; done < count && !p.t.Failed(); done += atOnce {
		frames := make([]frame, min(atOnce, count-done))
		for i := range frames {
			frames[i] = p.from.next()
		}
		p.compare(frames)
	}
	p.vifsAgree()
	p.t.Logf("%d frames: %v", count, p.seen)
}

// compare gives frames to both.
func (p *pair) compare(frames []frame) {
	p.t.Helper()
	fates := p.stand.forward(frames)
	room := make([]byte, 4096)
	p.tc.here.Do(func() error {
		for i, f := range frames {
			was := core.Totals{}
			if fates[i].outcome == dropped {
				was = p.tc.totals()
			}
			action, out, err := p.tc.run(f, room)
			if err != nil {
				return fmt.Errorf("running %s with %x: %w", f.at, f.bytes, err)
			}
			p.judge(f, fates[i], action, out, was)
		}
		return nil
	})
	poll, err := p.stand.plane.Totals()
	if err != nil {
		p.t.Fatal(err)
	}
	if tc := p.tc.totals(); tc != poll {
		p.differ("the counters: %s", differences(tc, poll))
	}
}

// judge compares what became of one frame; the counters of that are compared by compare.
func (p *pair) judge(f frame, want fate, action uint32, out []byte, was core.Totals) {
	p.t.Helper()
	var problem string
	switch want.outcome {
	case passed:
		p.seen["passed"]++
		if action != actionUnspec {
			problem = "the poll mode leaves it to the host"
		}
	case dropped:
		name := core.DropReasons[want.drop].Name
		p.seen[name]++
		if got := lost(was, p.tc.totals()); action != actionShot || got != name {
			problem = fmt.Sprintf("the poll mode drops it as %s, tc as %q", name, got)
		}
	default:
		p.seen[fmt.Sprintf("sent to %s", destination(want))]++
		problem = p.judgeSent(want, action, out)
	}
	if problem != "" {
		p.differ("at %s: %s; tc's action is %d\nin   %x", f.at, problem, int32(action), f.bytes)
	}
}

// judgeSent compares what left. The last of several copies is the packet itself, the others are at the
// interfaces' other ends.
func (p *pair) judgeSent(want fate, action uint32, out []byte) string {
	last := len(want.out) - 1
	if action != actionRedirect || last < 0 {
		return fmt.Sprintf("%d frames leave the poll mode", last+1)
	}
	for _, copy := range want.out[:last] {
		name := p.tc.names[copy.vif]
		if got := p.tc.far[name].Next(); !bytes.Equal(got, copy.bytes) {
			return fmt.Sprintf("a copy for %s differs\npoll %x\ntc   %x", name, copy.bytes, got)
		}
	}
	if !bytes.Equal(out, want.out[last].bytes) {
		return fmt.Sprintf("bytes differ\npoll %x\ntc   %x", want.out[last].bytes, out)
	}
	return ""
}

func destination(f fate) string {
	switch {
	case f.outcome == answered:
		return "whom it came from"
	case len(f.out) > 1:
		return "several"
	case len(f.out) == 1 && f.out[0].vif == 0:
		return fabric
	}
	return "a port"
}

// differ reports the first few differences, and ends the test with the last of them.
func (p *pair) differ(format string, args ...any) {
	p.t.Helper()
	p.t.Errorf("seed %d: "+format, append([]any{*seed}, args...)...)
	if p.shown++; p.shown >= enough {
		p.t.FailNow()
	}
}

func lost(was, is core.Totals) string {
	for i := range is.Drops {
		if is.Drops[i].Packets != was.Drops[i].Packets {
			return core.DropReasons[i].Name
		}
	}
	return ""
}

func differences(tc, poll core.Totals) (text string) {
	show := func(what string, a, b core.Count) {
		if a != b {
			text += fmt.Sprintf("%s: tc %+v, poll %+v; ", what, a, b)
		}
	}
	show("received from vifs", tc.ReceivedVif, poll.ReceivedVif)
	show("received from the fabric", tc.ReceivedFabric, poll.ReceivedFabric)
	show("forwarded", tc.Forwarded, poll.Forwarded)
	show("passed", tc.Passed, poll.Passed)
	show("answered", tc.Answered, poll.Answered)
	show("flooded", tc.Flooded, poll.Flooded)
	show("copies", tc.Copies, poll.Copies)
	for i := range tc.Drops {
		show("dropped as "+core.DropReasons[i].Name, tc.Drops[i], poll.Drops[i])
		show("copies lost as "+core.DropReasons[i].Name, tc.CopyDrops[i], poll.CopyDrops[i])
	}
	return text
}

// vifsAgree compares the accounts of every vif.
func (p *pair) vifsAgree() {
	p.t.Helper()
	for vif := range uint32(core.MaxVifs) {
		a, bad := p.tc.plane.VifCount(vif)
		b, worse := p.stand.plane.VifCount(vif)
		if bad != nil || worse != nil || a != b {
			p.t.Errorf("vif %d: tc %+v, poll %+v: %v, %v", vif, a, b, bad, worse)
		}
		c, bad := p.tc.plane.VifDrops(vif)
		d, worse := p.stand.plane.VifDrops(vif)
		if bad != nil || worse != nil || c != d {
			p.t.Errorf("the losses of vif %d differ: %v, %v", vif, bad, worse)
		}
	}
}
