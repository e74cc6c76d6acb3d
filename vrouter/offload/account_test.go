package offload

import (
	"testing"

	"windtunnel/vrouter/core"
)

// TestAccount: what devices take has one account, as what software does.
func TestAccount(t *testing.T) {
	var a Account
	all, ports := uint64(0), map[uint32]bool{3: true}
	for i, r := range smallPlan(t, RTEFlow).Rules {
		n := uint64(i + 1)
		a.Take(r, core.Count{Packets: n, Segments: n, Bytes: 100 * n})
		all, ports[r.Vif] = all+n, r.Vif != fabricVif
		if last := r.Actions[len(r.Actions)-1]; last.Do == ToPort {
			ports[last.Vif] = last.Vif != fabricVif
		}
	}
	before := a.Drops(3).From[core.DropPolicyDenied].Packets
	denied := Rule{Vif: 3, Actions: []Action{{Do: CountIt, Counter: Denied}, {Do: DropIt}}}
	a.Take(denied, core.Count{Packets: 5, Segments: 5, Bytes: 500})
	totals := a.Totals()
	received, dropped := totals.Received(), totals.Dropped()
	if received.Packets != all+5 || received.Packets != totals.Forwarded.Packets+dropped.Packets || received.Bytes != totals.Forwarded.Bytes+dropped.Bytes {
		t.Errorf("%d packets received of %d, %d forwarded, %d dropped", received.Packets, all+5, totals.Forwarded.Packets, dropped.Packets)
	}
	var rx, tx uint64
	for vif, is := range ports {
		if !is {
			continue
		}
		c, lost := a.Vif(vif), a.Drops(vif)
		from, _ := lost.Dropped()
		if c.Rx.Packets != c.Forwarded.Packets+from.Packets {
			t.Errorf("vif %d: %+v, and %d dropped", vif, c, from.Packets)
		}
		rx, tx = rx+c.Rx.Packets, tx+c.Tx.Packets
	}
	if now := a.Drops(3).From[core.DropPolicyDenied].Packets; rx != totals.ReceivedVif.Packets || tx == 0 || now != before+5 {
		t.Errorf("vifs have received %d of %d, and sent %d; vif 3 dropped %d", rx, totals.ReceivedVif.Packets, tx, now)
	}
	if a.Forget(3); a.Drops(3) != (core.VifDrops{}) || a.Vif(3) != (core.VifCount{}) {
		t.Error("the account of a vif that is another port's now is still there")
	}
}
