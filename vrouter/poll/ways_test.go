package poll

import (
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
)

// TestWays: the process keeps each flow on one of several ways, on whichever core it is.
func TestWays(t *testing.T) {
	_, c := golden.Load(t)
	b := newBed(t, c)
	image, err := c.Image(golden.Facts(b.ifindex), b.plane.Image())
	b.here.Must("making the image", err)
	rules, err := c.Rules()
	b.here.Must("making the rules", err)
	change := func(changes []config.Change) {
		next, plan, err := image.Change(rules, golden.Facts(b.ifindex), changes)
		b.here.Must("planning", err)
		b.here.Must("writing blocks", b.plane.Write(plan.Prepare))
		b.plane.Hosts().Forget(plan.Hosts)
		b.here.Must("switching roots", b.plane.Switch(plan.Switch))
		b.here.Must("waiting", b.plane.Quiesce())
		next.Release(plan.Retired)
		next.Remember(b.plane.Hosts(), plan.Hosts)
		image = next
	}
	golden.CheckWays(t, change, func(frame []byte) []byte {
		b.send["vif1"](frame)
		out := b.far["fabric"].Next()
		if len(out) < 46 {
			t.Fatalf("what leaves has %d bytes", len(out))
		}
		return out
	})
	b.vifsAddUp(t)
}
