package control

import (
	"errors"
	"slices"

	"windtunnel/vrouter/config"
)

// withLeft is the configuration with the ways of the routes that an earlier process left, before the
// first one is in force: their far ends have to be known, too.
func (a *Agent) withLeft(c config.Config) config.Config {
	if a.rules == nil {
		c.Routes = append(slices.Clip(c.Routes), a.image.Ways(c).Routes...)
	}
	return c
}

// imageOf makes the tables of a configuration. The first one goes on from what an earlier process left;
// where there is no room for both, without it.
func (a *Agent) imageOf(c config.Config, facts config.Facts) (config.Image, error) {
	if a.rules == nil {
		image, err := c.Resume(facts, a.image)
		if !errors.Is(err, config.ErrFull) {
			return image, err
		}
	}
	return c.Image(facts, a.image)
}

// Swept is the reply to a sweep.
type Swept struct {
	Removed int `json:"removed"`
	Routes  int `json:"routes"` // that lead to other nodes now
}

// Sweep takes away the routes that are stale: whoever sets routes has set all that there are.
func (a *Agent) Sweep() (Swept, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stale := a.image.StaleCount()
	if stale == 0 {
		return Swept{0, a.image.RouteCount()}, nil
	}
	next, plan, err := a.image.Sweep(a.rules, a.facts)
	if errors.Is(err, config.ErrFull) { // perhaps only of what nobody needs any more
		if err := a.makeRoom(); err != nil {
			return Swept{}, err
		}
		next, plan, err = a.image.Sweep(a.rules, a.facts)
	}
	if err != nil {
		return Swept{}, err
	}
	return Swept{stale, next.RouteCount()}, a.putRoutes(next, plan)
}
