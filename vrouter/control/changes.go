package control

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Changes is what a configuration changed, or would change.
type Changes struct {
	Changed  bool           `json:"changed"`
	Fabric   config.Section `json:"fabric"`
	Networks config.Section `json:"networks"`
	Ports    config.Section `json:"ports"`
	Policies config.Section `json:"policies"`
	Routes   config.Section `json:"routes"`
	Nexthops config.Section `json:"nexthops"`
	Tables   TableWork      `json:"tables"`
	Effects  []string       `json:"effects"` // what somebody may notice
	Adopted  bool           `json:"adopted"` // the tables were an earlier process's
}

// TableWork is what is done to the data path's tables, in writes.
type TableWork struct {
	Prepared int `json:"prepared"` // before any packet looks there
	Switched int `json:"switched"` // words that packets read, one at a time
	Retired  int `json:"retired"`  // after every packet under way is through
	Bytes    int `json:"bytes"`
}

func tableWork(plan config.Plan) TableWork {
	w := TableWork{Prepared: len(plan.Prepare), Switched: len(plan.Switch), Retired: len(plan.Retire)}
	for _, writes := range [][]config.Write{plan.Prepare, plan.Switch, plan.Retire} {
		for _, write := range writes {
			w.Bytes += len(write.Data)
		}
	}
	return w
}

// A wish is a configuration with what it becomes on this machine.
type wish struct {
	config config.Config
	facts  config.Facts
	image  config.Image
	plan   config.Plan
}

// Refused is an error that came before anything was changed: the configuration is not possible here.
type Refused struct{ error }

func (r Refused) Unwrap() error { return r.error }

// Refuse marks an error so.
func Refuse(err error) error { return Refused{err} }

// consider finds out what a configuration becomes, and refuses what cannot be.
func (a *Agent) consider(c config.Config) (wish, error) {
	w := wish{config: c}
	if err := a.mayReplace(c); err != nil {
		return w, Refuse(err)
	}
	var err error
	if w.facts, err = a.machine.facts(a.withLeft(c)); err != nil {
		return w, err
	}
	if err = a.machine.hasAddresses(c); err != nil {
		return w, err
	}
	if err = a.mayHave(c, w.facts); err != nil {
		return w, Refuse(err)
	}
	if err = a.canDo(c, w.facts); err != nil {
		return w, Refuse(err)
	}
	if err = a.release(); err != nil { // so that there is room
		return w, err
	}
	if w.image, err = a.imageOf(c, w.facts); err != nil {
		return w, Refuse(err)
	}
	w.plan = config.Diff(a.image, w.image)
	return w, nil
}

// mayHave refuses ports that cannot be here. The interface of one that is in force may be gone for a
// while, and at the start it may not be there yet: then the port is missing until it is.
func (a *Agent) mayHave(c config.Config, facts config.Facts) error {
	held := make(map[string]string)
	for _, p := range a.config.Ports {
		held[p.Name] = p.Place()
	}
	for _, p := range c.Ports {
		if p.MAC == facts.FabricMAC {
			return fmt.Errorf("port %s: %s is the fabric's own MAC address; give the container another", p.Name, p.MAC)
		}
		_, here := facts.Interfaces[p.Place()]
		if here || a.rules == nil || held[p.Name] == p.Place() {
			continue
		}
		if err := a.machine.mayTake(p); err != nil {
			return err
		}
	}
	return nil
}

// WouldApply tells what Apply would do, and does nothing.
func (a *Agent) WouldApply(c config.Config) (Changes, error) {
	if err := c.Validate(); err != nil {
		return Changes{}, Refuse(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w, err := a.consider(a.named(c))
	if err != nil {
		return Changes{}, err
	}
	defer w.image.Discard()
	return a.changesTo(w), nil
}

func (a *Agent) changesTo(w wish) Changes {
	now, next := a.view(), view{w.config, w.image}
	named, adopted := now, false
	if now.config.Name == "" { // the tables were adopted, without the names of what is in them
		named.config = w.config
		adopted = len(now.image.Vifs)+len(now.image.Nexthops) > 0
	}
	c := Changes{
		Fabric:   config.Compare(now.fabric(), next.fabric(), func(f config.Fabric) string { return f.Interface }, "interface"),
		Networks: config.Compare(now.config.Networks, next.config.Networks, config.NetworkKey, "name"),
		Ports:    config.Compare(now.config.Ports, next.config.Ports, config.PortKey, "name"),
		Policies: config.Compare(now.config.Policies, next.config.Policies, config.PolicyKey, "name"),
		Routes:   config.CompareRoutes(now.image, next.image),
		Nexthops: config.Compare(named.nexthops(), next.nexthops(), func(n Nexthop) string { return strconv.Itoa(int(n.Nexthop)) }, "nh"),
		Tables:   tableWork(w.plan), Effects: []string{}, Adopted: adopted,
	}
	c.Changed = !w.plan.Empty() || !c.Fabric.Empty() || !c.Networks.Empty() || !c.Ports.Empty() || !c.Policies.Empty() || now.config.Idle != next.config.Idle || !c.Routes.Empty() ||
		now.config.Offload != next.config.Offload || !slices.Equal(now.config.OffloadFlows, next.config.OffloadFlows)
	c.effects(now, next, w.facts)
	return c
}

// fabric is a list of one, or of none before there is a configuration.
func (v view) fabric() []config.Fabric {
	if v.config.Name == "" {
		return nil
	}
	return []config.Fabric{v.config.Fabric}
}

func (c *Changes) effect(format string, args ...any) {
	c.Effects = append(c.Effects, fmt.Sprintf(format, args...))
}

// effects says what of the changes somebody may notice. What is not here goes on as before.
func (c *Changes) effects(now, next view, facts config.Facts) {
	for _, p := range c.Ports.Removed {
		c.effect("port %s: packets from and to it are dropped from then on", p.Key)
	}
	slots := now.slots()
	for _, slot := range slices.Sorted(maps.Keys(next.image.Vifs)) {
		vif := next.image.Vifs[slot]
		if old, there := slots[vif.ID]; there && old != slot {
			c.effect("port %s: its counters begin anew", next.portNames()[slot])
		}
	}
	if stale := next.image.StaleCount(); stale > 0 {
		c.effect("%d routes that clients had set are kept, as stale, until they are set again or swept", stale)
	}
	switch removed := c.Routes.Counts.Removed; {
	case removed == 1:
		c.effect("route %s: packets to it follow a shorter prefix, or are dropped as no_route", c.Routes.Removed[0].Key)
	case removed > 1:
		c.effect("%d routes that are removed: packets to them follow a shorter prefix, or are dropped as no_route", removed)
	}
	for _, p := range next.config.Ports {
		if _, here := facts.Interfaces[p.Place()]; !here {
			c.effect("port %s: its interface %s is not there; it is missing until it is", p.Name, p.Place())
		}
	}
	known := make(map[string]bool)
	for _, remote := range remotes(now.image.Ways(now.config)) {
		known[remote.String()] = true
	}
	for _, remote := range remotes(next.image.Ways(next.config)) {
		if _, resolved := facts.Neighbours[remote]; !resolved && !known[remote.String()] {
			asked := map[bool]string{true: "ARP", false: "neighbour discovery"}[remote.Is4()]
			c.effect("tunnel to %s: its MAC is not known yet; packets to it are dropped as %s until it answers %s", remote, core.DropReasons[core.DropUnresolved].Name, asked)
		}
	}
}
