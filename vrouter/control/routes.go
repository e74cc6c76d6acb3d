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

// waiting is how many blocks and hosts may wait for their release: a grace period, which takes some
// milliseconds, is then shared by thousands of changes.
const waiting = 4096

// ChangeRoutes changes routes of the configuration that is in force, while packets flow: all that are
// asked for or, after an error, none. A network's change at once.
func (a *Agent) ChangeRoutes(changes []config.Change) (Routes, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next, plan, err := a.image.Change(a.rules, a.facts, changes)
	if errors.Is(err, config.ErrFull) { // perhaps only of what nobody needs any more
		if err := a.makeRoom(); err != nil {
			return Routes{}, err
		}
		next, plan, err = a.image.Change(a.rules, a.facts, changes)
	}
	if err != nil {
		return Routes{}, Refuse(fmt.Errorf("changing routes: %w", err))
	}
	return Routes{len(changes), next.RouteCount()}, a.putRoutes(next, plan)
}

// makeRoom gives back what nobody needs any more.
func (a *Agent) makeRoom() error { return errors.Join(a.release(), a.refreshTo(a.facts)) }

// putRoutes puts a change of routes in force.
func (a *Agent) putRoutes(next config.Image, plan config.Plan) error {
	if err := a.plane.Write(plan.Prepare); err != nil {
		next.Discard()
		return err
	}
	a.withdraw()
	a.plane.Hosts().Forget(plan.Hosts)
	if err := a.plane.Switch(plan.Switch); err != nil {
		return err
	}
	ways := len(next.Nexthops) != len(a.image.Nexthops)
	a.image = next
	a.retired, a.hosts = append(a.retired, plan.Retired...), append(a.hosts, plan.Hosts...)
	if ways { // to nodes that nobody has asked for yet
		a.machine.probe(next.Ways(a.config))
		a.refreshLocked()
	}
	if len(a.retired)+len(a.hosts) >= waiting {
		return a.release()
	}
	return nil
}

// release gives blocks back that packets may be in, and puts hosts in again whose routes have changed,
// once no packet follows what was before.
func (a *Agent) release() error {
	if len(a.retired)+len(a.hosts) == 0 {
		return nil
	}
	if err := a.plane.Quiesce(); err != nil {
		return err
	}
	a.image.Release(a.retired)
	a.image.Remember(a.plane.Hosts(), a.hosts)
	a.retired, a.hosts = a.retired[:0], a.hosts[:0]
	return nil
}
