package control

import (
	"cmp"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Drop is one reason's account. That of one network or port has a direction: from it or to it.
type Drop struct {
	Reason    string `json:"reason"`
	Says      string `json:"says"`
	Direction string `json:"direction,omitempty"`
	Count
}

// Drops lists every reason with what it lost; of a network or a port, those that lost something,
// by direction.
func (a *Agent) Drops(scope Scope) ([]Drop, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.view().check(scope); err != nil {
		return nil, err
	}
	if scope != (Scope{}) {
		return a.dropsOf(scope)
	}
	totals, err := a.plane.Totals()
	if err != nil {
		return nil, err
	}
	rows := []Drop{}
	for i, reason := range core.DropReasons {
		if i != core.DropNone {
			rows = append(rows, Drop{Reason: reason.Name, Says: reason.Says, Count: countOf(totals.Drops[i])})
		}
	}
	return rows, nil
}

func (a *Agent) dropsOf(scope Scope) ([]Drop, error) {
	var sum Account
	if scope.Port == "" {
		sum = a.past[scope.Network]
	}
	if err := a.eachAccount(scope, func(_ config.Port, account Account) { sum.add(account) }); err != nil {
		return nil, err
	}
	rows := []Drop{}
	for i, reason := range core.DropReasons {
		for direction, count := range map[string]core.Count{"from": sum.From[i], "to": sum.To[i]} {
			if count.Packets > 0 {
				rows = append(rows, Drop{reason.Name, reason.Says, direction, countOf(count)})
			}
		}
	}
	slices.SortStableFunc(rows, func(x, y Drop) int { return cmp.Compare(x.Direction, y.Direction) })
	return rows, nil
}
