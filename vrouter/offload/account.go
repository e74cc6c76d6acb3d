package offload

import (
	"sync"

	"windtunnel/vrouter/core"
)

// An Account is of what devices forward and drop in software's place, by all rules that there were. The zero value is
// an empty one. Its methods may be called at any time.
type Account struct {
	mu     sync.Mutex
	totals core.Totals
	vifs   map[uint32]core.VifCount
	drops  map[uint32]core.VifDrops
}

// Take counts packets of a rule: each has one account, as with those of software.
func (a *Account) Take(r Rule, more core.Count) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.vifs == nil {
		a.vifs, a.drops = make(map[uint32]core.VifCount), make(map[uint32]core.VifDrops)
	}
	from, drops, last := a.vifs[r.Vif], a.drops[r.Vif], r.Actions[len(r.Actions)-1]
	if r.Vif == fabricVif {
		a.totals.ReceivedFabric.Add(more)
	} else {
		a.totals.ReceivedVif.Add(more)
		from.Rx.Add(more)
	}
	if last.Do == DropIt { // only a policy's denial is made a rule: Denied
		a.totals.Drops[core.DropPolicyDenied].Add(more)
		drops.From[core.DropPolicyDenied].Add(more)
	} else {
		a.totals.Forwarded.Add(more)
		from.Forwarded.Add(more)
	}
	if r.Vif != fabricVif {
		a.vifs[r.Vif], a.drops[r.Vif] = from, drops
	}
	if last.Do == ToPort && last.Vif != fabricVif {
		to := a.vifs[last.Vif]
		to.Tx.Add(more)
		a.vifs[last.Vif] = to
	}
}

// Forget is for a vif that is another port's from now on.
func (a *Account) Forget(vif uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.vifs, vif)
	delete(a.drops, vif)
}

// Totals are all packets'.
func (a *Account) Totals() core.Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.totals
}

// Vif is one vif's.
func (a *Account) Vif(vif uint32) core.VifCount {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.vifs[vif]
}

// Drops are one vif's losses.
func (a *Account) Drops(vif uint32) core.VifDrops {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.drops[vif]
}
