// Package control is the vRouter's agent: it makes the tables of a data plane what a configuration asks
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
	"windtunnel/vrouter/kernel"
	"windtunnel/vrouter/poll"
)

// Agent runs one vRouter. It lives in the network namespace of the process that started it.
type Agent struct {
	mu      sync.Mutex
	plane   plane
	kernel  *kernel.Dataplane // the plane, in kernel mode
	poll    *poll.Plane       // the plane, in poll mode
	alias   string            // what configurations may call it, too
	machine machine
	config  config.Config
	rules   *config.Rules // of config
	image   config.Image
	retired []uint32        // blocks that packets may still be in
	hosts   []config.Single // changed, and to be looked for in the route tables until then
	facts   config.Facts
	applied time.Time
	changes int    // configurations applied
	settled bool   // the kernel has all of image
	problem string // of the machine, at the last look
	receive kernel.Receive
	fast    map[uint32]kernel.Fast // by interface
	// inDevice is, by interface, why its device does not run the fast path; nil: it does. Empty if it is not to.
	inDevice map[uint32]error
	first    Changes
	past     map[string]Account // of ports that are gone, by network

	hardware hardware

	watching sync.Mutex // held while somebody watches live packets
	stop     context.CancelFunc
	watch    sync.WaitGroup
}

// resolveAtStart bounds how long Start waits for the tunnels' far ends to answer ARP. They may be
// down; then the vRouter starts all the same, and goes on asking.
const resolveAtStart = time.Second

// Start loads the kernel mode and applies a configuration. Close ends it.
func Start(ctx context.Context, c config.Config, options kernel.Options) (*Agent, error) {
	options.Blocks, options.Hosts, options.Flows = c.Limits.Blocks(), c.Limits.HostBuckets(), c.Limits.FlowTable()
	return start(ctx, c, func(a *Agent) (err error) {
		a.kernel, err = kernel.Load(options)
		a.plane, a.hardware.board = a.kernel, a.kernel
		return err
	})
}

// StartPoll does the same with the poll mode.
func StartPoll(ctx context.Context, c config.Config, options poll.Options) (*Agent, error) {
	options.Blocks, options.Hosts, options.Flows = c.Limits.Blocks(), c.Limits.HostBuckets(), c.Limits.FlowTable()
	options.Name, options.Pinned = c.Name, c.Pinned()
	return start(ctx, c, func(a *Agent) (err error) {
		a.poll, err = poll.Start(options)
		a.plane, a.hardware.board = a.poll, a.poll
		return err
	})
}

func start(ctx context.Context, c config.Config, load func(*Agent) error) (*Agent, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	machine, err := openMachine()
	if err != nil {
		return nil, err
	}
	a := &Agent{machine: machine, past: make(map[string]Account)}
	if err := load(a); err != nil {
		machine.close()
		return nil, err
	}
	a.image = a.plane.Image()
	if err := a.begin(ctx, c); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Agent) begin(ctx context.Context, c config.Config) error {
	ctx, a.stop = context.WithCancel(ctx)
	events := a.machine.subscribe(ctx, &a.watch)
	rules, err := c.Rules()
	if err != nil {
		return Refuse(err)
	}
	a.image = rules.Recognise(a.image)
	a.machine.awaitNeighbours(ctx, a.withLeft(c), resolveAtStart)
	changes, err := a.Apply(c)
	if err != nil {
		return err
	}
	a.first = changes
	a.watch.Add(1)
	go a.follow(ctx, events)
	if a.kernel != nil {
		if err := a.kernel.DetachStale(); err != nil {
			return fmt.Errorf("detaching what an earlier vRouter left: %w", err)
		}
	}
	if err := a.dropStrayFlows(); err != nil {
		return err
	}
	a.watch.Add(1)
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
	a.mu.Lock()
	defer a.mu.Unlock()
	c = a.named(c)
	rules, err := c.Rules()
	if err != nil {
		return Changes{}, Refuse(err)
	}
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

// TakeName lets configurations have a name that is not the vRouter's own, as the file has that one is
// started with.
func (a *Agent) TakeName(alias string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.alias = alias
}

// named is the configuration with the vRouter's own name.
func (a *Agent) named(c config.Config) config.Config {
	if c.Name == a.alias && a.config.Name != "" {
		c.Name = a.config.Name
	}
	return c
}

// mayReplace refuses what can only be changed by a restart.
func (a *Agent) mayReplace(c config.Config) error {
	if a.config.Name == "" {
		return nil
	}
	if c.Name != a.config.Name {
		return fmt.Errorf("the configuration is of %q, this vRouter is %q", c.Name, a.config.Name)
	}
	if !c.Limits.Same(a.config.Limits) {
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
	err := errors.Join(a.clearCounts(w.image), a.plane.Write(plan.Prepare))
	if err == nil {
		err = a.bringUp(w)
	}
	if err != nil {
		w.image.Discard()
		return err
	}
	a.withdraw()
	a.plane.Hosts().Forget(plan.Hosts)
	if err := a.plane.Switch(plan.Switch); err != nil {
		return err
	}
	left, before := a.leaving(w), a.image
	a.image, a.config, a.facts, a.settled = w.image, w.config, w.facts, false
	if err := a.takeDown(); err != nil {
		return err
	}
	if first := a.rules == nil; first || len(plan.Retire)+len(plan.Retired)+len(plan.Hosts) > 0 {
		if err := a.plane.Quiesce(); err != nil {
			return err
		}
		if first { // whom an earlier vRouter was about to put in is not known
			a.image.RememberAll(a.plane.Hosts())
		} else {
			a.image.Remember(a.plane.Hosts(), plan.Hosts)
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
	if a.kernel != nil && a.kernel.FastChanged() {
		_ = a.setFast(wish{config: a.config, facts: a.facts, image: a.image})
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
	if err = errors.Join(err, a.release(), a.machine.hasAddresses(a.config), a.joins(), a.pollProblem(), a.rulesLocked()); err != nil {
		a.problem = err.Error()
	}
}

// joins says what joins tunnel packets before the vRouter sees them. At XDP it sees them first, and a VXLAN
// socket of its own takes them apart rightly.
func (a *Agent) joins() error {
	if a.kernel == nil || a.receive.Way != config.ReceiveTC {
		return nil
	}
	feature, err := kernel.JoinsTunnels(a.facts.FabricIfindex)
	if err != nil || feature == "" {
		return err
	}
	name := a.config.Fabric.Interface
	return fmt.Errorf("the fabric's interface %s joins tunnel packets by their outer headers, which loses them; `ethtool -K %s %s off`", name, name, feature)
}

func (a *Agent) refreshTo(facts config.Facts) error {
	next, err := a.image.Refresh(a.rules, facts)
	if err != nil {
		return err
	}
	return a.install(wish{a.config, facts, next, config.Diff(a.image, next)})
}
