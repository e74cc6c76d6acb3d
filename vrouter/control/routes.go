package control

import (
	"errors"
	"fmt"

	"windtunnel/vrouter/config"
)

// Routes is the reply to a change of routes.
type Routes struct {
	Changes int `json:"changes"` // that were asked for
	Routes  int `json:"routes"`  // that lead to other nodes now
}

// waiting is how many blocks may wait for their release: a grace period, which takes some
// milliseconds, is then shared by thousands of changes.
const waiting = 4096

// ChangeRoutes changes routes of the configuration that is in force, while packets flow: all that are
// asked for or, after an error, none. A network's change at once.
func (a *Agent) ChangeRoutes(changes []config.Change) (Routes, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next, plan, err := a.image.Change(a.rules, a.facts, changes)
	if errors.Is(err, config.ErrFull) { // perhaps only of what nobody needs any more
		if err := errors.Join(a.release(), a.refreshTo(a.facts)); err != nil {
			return Routes{}, err
		}
		next, plan, err = a.image.Change(a.rules, a.facts, changes)
	}
	if err != nil {
		return Routes{}, Refuse(fmt.Errorf("changing routes: %w", err))
	}
	if err := a.plane.Write(plan.Prepare); err != nil {
		next.Discard()
		return Routes{}, err
	}
	if err := a.plane.Switch(plan.Switch); err != nil {
		return Routes{}, err
	}
	ways := len(next.Nexthops) != len(a.image.Nexthops)
	a.image = next
	a.retired = append(a.retired, plan.Retired...)
	if ways { // to nodes that nobody has asked for yet
		a.machine.probe(next.Ways(a.config))
		a.refreshLocked()
	}
	if len(a.retired) >= waiting {
		err = a.release()
	}
	return Routes{len(changes), next.RouteCount()}, err
}

// release gives blocks back that packets may be in, once they are not.
func (a *Agent) release() error {
	if len(a.retired) == 0 {
		return nil
	}
	if err := a.plane.Quiesce(); err != nil {
		return err
	}
	a.image.Release(a.retired)
	a.retired = a.retired[:0]
	return nil
}
