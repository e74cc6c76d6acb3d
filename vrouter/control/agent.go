// Package control is the vRouter's agent: it makes the kernel's tables what a configuration asks
// for, keeps them so while interfaces and neighbours come and go, and serves them over a Unix
// socket (PROTOCOL.md).
package control

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/kernel"
)

// Agent runs one vRouter. It lives in the network namespace of the process that started it.
type Agent struct {
	mu      sync.Mutex
	plane   *kernel.Dataplane
	machine machine
	config  config.Config
	rules   *config.Rules // of config
	image   config.Image
	retired []uint32 // blocks that packets may still be in
	facts   config.Facts
	applied time.Time
	changes int    // configurations applied
	settled bool   // the kernel has all of image
	problem string // of the machine, at the last look
	receive kernel.Receive
	fast    map[uint32]kernel.Fast // by interface
	first   Changes
	past    map[string]Account // of ports that are gone, by network

	watching sync.Mutex // held while somebody watches live packets
	stop     context.CancelFunc
	watch    sync.WaitGroup
}

// resolveAtStart bounds how long Start waits for the tunnels' far ends to answer ARP. They may be
// down; then the vRouter starts all the same, and goes on asking.
const resolveAtStart = time.Second

// Start loads the data plane and applies a configuration. Close ends it.
func Start(ctx context.Context, c config.Config, options kernel.Options) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	machine, err := openMachine()
	if err != nil {
		return nil, err
	}
	options.Blocks, options.Flows = c.Limits.Blocks(), c.Limits.FlowTable()
	plane, err := kernel.Load(options)
	if err != nil {
		machine.close()
		return nil, err
	}
	a := &Agent{plane: plane, machine: machine, image: plane.Image(), past: make(map[string]Account)}
	if err := a.begin(ctx, c); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Agent) begin(ctx context.Context, c config.Config) error {
	ctx, a.stop = context.WithCancel(ctx)
	events := a.machine.subscribe(ctx)
	a.machine.awaitNeighbours(ctx, c, resolveAtStart)
	changes, err := a.Apply(c)
	if err != nil {
		return err
	}
	a.first = changes
	if err := a.plane.DetachStale(); err != nil {
		return fmt.Errorf("detaching what an earlier vRouter left: %w", err)
	}
	if err := a.dropStrayFlows(); err != nil {
		return err
	}
	a.watch.Add(2)
	go a.follow(ctx, events)
	go a.age(ctx)
	return nil
}

// Close ends the agent. With pinned objects forwarding goes on; else it ends.
func (a *Agent) Close() error {
	if a.stop != nil {
		a.stop()
	}
	a.watch.Wait()
	a.machine.close()
	return a.plane.Close()
}

// First is what the configuration that Start was given changed; of tables that it adopted, too.
func (a *Agent) First() Changes { return a.first }

// Features lists what the kernel offers and the data plane uses.
func (a *Agent) Features() []string { return a.plane.Features() }

// Apply makes the configuration the current one, while packets flow, and says what it changed. After
// an error the one before is in force; one that is [Refused] was never tried.
func (a *Agent) Apply(c config.Config) (Changes, error) {
	rules, err := c.Rules()
	if err != nil {
		return Changes{}, Refuse(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w, err := a.consider(c)
	if err != nil {
		return Changes{}, err
	}
	changes := a.changesTo(w)
	before := wish{config: a.config, facts: a.facts, image: a.image}
	if err := a.install(w); err != nil {
		if a.rules != nil {
			before.plan = config.Diff(a.image, before.image)
			err = errors.Join(err, a.install(before))
		}
		return Changes{}, fmt.Errorf("applying the configuration: %w", err)
	}
	a.rules = rules
	a.changes++
	changes.Effects = append(changes.Effects, a.slow()...)
	a.applied = time.Now()
	return changes, nil
}

// mayReplace refuses what can only be changed by a restart.
func (a *Agent) mayReplace(c config.Config) error {
	if a.config.Name == "" {
		return nil
	}
	if c.Name != a.config.Name {
		return fmt.Errorf("the configuration is of %q, this vRouter is %q", c.Name, a.config.Name)
	}
	if c.Limits != a.config.Limits {
		return errors.New("the limits cannot be changed while the vRouter runs; start it anew")
	}
	same := c.Fabric
	same.Receive, same.Fast, same.Peers = a.config.Fabric.Receive, a.config.Fabric.Fast, a.config.Fabric.Peers
	if !reflect.DeepEqual(same, a.config.Fabric) {
		return errors.New("the fabric's interface and address cannot be changed while the vRouter runs; start it anew")
	}
	return nil
}

// install is the way from one image to the next: config.Plan says why in this order. After an error
// what the old image has is still there, so that the way back is open.
func (a *Agent) install(w wish) error {
	plan := w.plan
	if err := errors.Join(a.clearCounts(w.image), a.plane.Write(plan.Prepare)); err != nil {
		w.image.Discard()
		return err
	}
	if err := a.plane.Switch(plan.Switch); err != nil {
		return err
	}
	left, before := a.leaving(w), a.image
	a.image, a.config, a.facts, a.settled = w.image, w.config, w.facts, false
	if err := a.attach(); err != nil {
		return err
	}
	if len(plan.Retire)+len(plan.Retired) > 0 {
		if err := a.plane.Quiesce(); err != nil {
			return err
		}
		a.keepCounts(left)
		if err := a.dropFlows(before, w.image); err != nil {
			return err
		}
		if err := a.plane.Write(plan.Retire); err != nil {
			return err
		}
		w.image.Release(plan.Retired)
	}
	a.settled = true
	return nil
}

// clearCounts starts the account of vifs that are new: another port may have had their slot.
func (a *Agent) clearCounts(next config.Image) error {
	for slot := range next.Vifs {
		if _, old := a.image.Vifs[slot]; old {
			continue
		}
		if err := a.plane.ClearVifCount(slot); err != nil {
			return err
		}
	}
	return nil
}

// attach puts the programs where the image has vifs, and takes them from where it has none.
func (a *Agent) attach() error {
	current := map[uint32]bool{a.facts.FabricIfindex: true}
	for slot, vif := range a.image.Vifs {
		current[vif.Ifindex] = true
		if err := a.plane.SetPort(vif.Ifindex, slot); err != nil {
			return err
		}
		if err := a.plane.AttachVif(vif.Ifindex); err != nil {
			return err
		}
	}
	ports, err := a.plane.Ports()
	if err != nil {
		return fmt.Errorf("listing the ports: %w", err)
	}
	for ifindex := range ports {
		if !current[ifindex] {
			if err := errors.Join(a.plane.Detach(ifindex), a.plane.ClearPort(ifindex)); err != nil {
				return err
			}
		}
	}
	if err := a.plane.AttachFabric(a.facts.FabricIfindex); err != nil {
		return err
	}
	a.receive, err = a.plane.SetReceive(a.facts.FabricIfindex, a.config.Fabric.Receive, kernel.Tunnels{
		MPLS: len(a.image.Labels) > 0, VXLAN: a.image.Node.Flags&core.NodeVXLAN != 0,
	})
	return errors.Join(err, a.setFast())
}

// askAgain is how often neighbours that are not known, or not sure, are asked for.
const askAgain = time.Second

// follow keeps the tables true to the machine until the context ends.
func (a *Agent) follow(ctx context.Context, events <-chan struct{}) {
	defer a.watch.Done()
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-events: // a neighbour that was forgotten is asked for at once, not at the next tick
		case <-tick.C:
		}
		a.refresh()
		a.machine.probe(a.current())
	}
}

// current is the configuration, with one route for each way to other nodes.
func (a *Agent) current() config.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.image.Ways(a.config)
}

// refresh applies the same configuration to what the machine is now. A port whose interface is gone
// is routed to discard until it is back. What fails is tried again at the next event or tick.
func (a *Agent) refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refreshLocked()
}

func (a *Agent) refreshLocked() {
	if a.plane.FastChanged() {
		_ = a.setFast()
	}
	facts, err := a.machine.facts(a.image.Ways(a.config))
	switch {
	case err != nil:
	case facts.FabricIfindex != a.facts.FabricIfindex:
		err = fmt.Errorf("the fabric's interface %s is another one than it was; start the vRouter anew", a.config.Fabric.Interface)
	case !a.settled || !reflect.DeepEqual(facts, a.facts):
		err = a.refreshTo(facts)
	}
	a.problem = ""
	if err = errors.Join(err, a.machine.hasAddresses(a.config)); err != nil {
		a.problem = err.Error()
	}
}

func (a *Agent) refreshTo(facts config.Facts) error {
	next, err := a.image.Refresh(a.rules, facts)
	if err != nil {
		return err
	}
	return a.install(wish{a.config, facts, next, config.Diff(a.image, next)})
}
