package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/offload"
)

/*
filterRules are rules that devices forward by in the programs' place, as tc's flower filters that are for hardware alone
(skip_sw): a filter that no device takes is refused, and its packets go on to the programs.

A filter outlives the process that made it. So each has a cookie, and who starts removes those of its own name and of
vRouters that are gone.
*/
type filterRules struct {
	table   filterTable
	cookie  cookie
	alive   io.Closer // says so to others, from the first filter on
	given   []givenFilter
	account offload.Account
}

type givenFilter struct {
	offload.Given
	handle  uint32
	counted core.Count // is in the account already
}

// filterPriority is where the filters are among those of an interface; IPv6's is the next one. Their order among others
// that are for hardware matters to nobody but those, and no packet of theirs meets a vRouter.
const filterPriority = 0x7672

// cookieOf is that of a vRouter of a name.
func cookieOf(name string) (c cookie) {
	h := fnv.New64a()
	h.Write([]byte(name)) // it never fails
	copy(c[:], flowerTag)
	binary.BigEndian.PutUint64(c[len(flowerTag):], h.Sum64())
	return c
}

// handle is a filter's, of which each interface has one at a priority: the upper half is the vRouter's, since several may have
// filters at one tunnel device.
func (f *filterRules) handle(i int) uint32 {
	return uint32(binary.BigEndian.Uint16(f.cookie[len(f.cookie)-2:]))<<16 | uint32(i+1)
}

// sweep removes what an earlier process of the name left, and vRouters that are gone.
func (f *filterRules) sweep() error {
	all, err := f.table.list()
	if err != nil {
		return err
	}
	gone := map[cookie]bool{f.cookie: true}
	var failed []error
	for _, filter := range all {
		if _, asked := gone[filter.cookie]; !asked {
			held, err := f.table.claim(filter.cookie)
			if gone[filter.cookie] = err == nil; err == nil {
				held.Close()
			}
		}
		if gone[filter.cookie] {
			failed = append(failed, f.table.remove(filter))
		}
	}
	return errors.Join(failed...)
}

// Target is whose words rules are in.
func (d *Dataplane) Target() offload.Target { return offload.Flower }

// Taken is the account of what devices took, by all rules that there were.
func (d *Dataplane) Taken() *offload.Account { return &d.rules.account }

// Offers is what devices have to do with filters, by vif (0: the fabric): nil takes them.
func (d *Dataplane) Offers() map[uint32]error {
	offers := make(map[uint32]error)
	ports, err := d.Ports()
	if err != nil {
		return offers
	}
	for ifindex, vif := range ports {
		offers[vif] = d.rules.table.offers(ifindex)
	}
	offers[0] = d.rules.table.offers(d.fabric)
	return offers
}

// GiveRules puts a filter for each rule, which its device may refuse ([Dataplane.Rules] tells). They must be right for
// the tables as they are. There must be none yet.
func (d *Dataplane) GiveRules(plan offload.Plan) error { return d.rules.give(plan) }

func (f *filterRules) give(plan offload.Plan) error {
	if err := f.withdraw(); err != nil { // what could not be removed before is of earlier tables
		return err
	}
	if len(plan.Rules) == 0 {
		return nil
	}
	if f.alive == nil {
		held, err := f.table.claim(f.cookie)
		if err != nil {
			return fmt.Errorf("another vRouter of the same name gives devices of this network namespace filters: %w", err)
		}
		f.alive = held
	}
	tunnels, err := f.table.tunnels()
	if err != nil {
		return err
	}
	var devices, commands []string
	var put []int // which rule each command is of
	f.given = make([]givenFilter, len(plan.Rules))
	for i, r := range plan.Rules {
		g := givenFilter{Given: offload.Given{Rule: r, Why: unfit(r)}, handle: f.handle(i)}
		at := offload.FilterPlace{Priority: filterPriority, Handle: g.handle, Cookie: f.cookie[:]}
		if needs := offload.TunnelDevice(r); g.Why == "" && needs != "" {
			if at.Tunnel = tunnels[r.Tunnel.Encapsulation]; at.Tunnel == "" {
				g.Why = "it needs a tunnel device of the kernel's that is up: " + offload.TunnelMade(r.Tunnel.Encapsulation)
			}
		}
		if g.Why == "" {
			device, command := plan.Filter(r, at)
			devices, commands, put = append(devices, device), append(commands, command), append(put, i)
		}
		f.given[i] = g
	}
	refused, err := f.table.put(devices, commands)
	if err != nil { // some may be there
		return errors.Join(err, f.withdraw())
	}
	for n, i := range put {
		if f.given[i].Why = "the device has no such filter"; refused[n] != nil {
			f.given[i].Why = refused[n].Error()
		}
	}
	return f.count()
}

// unfit says why a rule is not given, though tc has words for it.
func unfit(r offload.Rule) string {
	for _, a := range r.Actions {
		if a.Do == offload.Fits {
			return fmt.Sprintf("its counter may have what does not fit and is software's; give the port's interface the MTU %d", a.Bytes-ethHeader)
		}
	}
	return ""
}

const ethHeader = 14

// CountRules reads the devices' counters.
func (d *Dataplane) CountRules() error { return d.rules.count() }

// count takes over what devices have counted since the last time.
func (f *filterRules) count() error {
	if len(f.given) == 0 {
		return nil
	}
	_, err := f.look()
	return err
}

// look lists the filters that there are, and takes over what devices have counted. One that is gone, with its interface, say,
// is no device's any more.
func (f *filterRules) look() ([]flowerFilter, error) {
	all, err := f.table.list()
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(all, func(filter flowerFilter) bool { return filter.cookie != f.cookie })
	now := make(map[uint32]flowerFilter, len(mine))
	for _, filter := range mine {
		now[filter.handle] = filter
	}
	for i := range f.given {
		g := &f.given[i]
		filter, there := now[g.handle]
		if taken := there && filter.inDevice; taken != g.Taken {
			if g.Taken, g.Why = taken, ""; !taken {
				g.Why = "the device has lost it"
			}
		}
		if there {
			f.take(g, filter.count)
		}
	}
	return mine, nil
}

// take adds to the account what a filter counted since the last time.
func (f *filterRules) take(g *givenFilter, now core.Count) {
	before := g.counted
	if now.Packets <= before.Packets || now.Bytes < before.Bytes {
		return
	}
	f.account.Take(g.Rule, core.Count{Packets: now.Packets - before.Packets, Segments: now.Segments - before.Segments, Bytes: now.Bytes - before.Bytes})
	g.counted, g.Packets, g.Bytes = now, now.Packets, now.Bytes
}

// WithdrawRules takes all filters away, and reads their counters before. It must be done before the tables change. An error
// says what is still there: no filter is given then until it could be removed.
func (d *Dataplane) WithdrawRules() error { return d.rules.withdraw() }

func (f *filterRules) withdraw() error {
	if len(f.given) == 0 {
		return nil
	}
	mine, err := f.look()
	for _, filter := range mine {
		err = errors.Join(err, f.table.remove(filter))
	}
	if err == nil {
		f.given = nil
	}
	return err
}

// Rules are those that devices were asked to take.
func (d *Dataplane) Rules() []offload.Given {
	if len(d.rules.given) == 0 {
		return nil
	}
	all := make([]offload.Given, len(d.rules.given))
	for i, g := range d.rules.given {
		all[i] = g.Given
	}
	return all
}

// close leaves devices nothing: without an agent no rule stays right.
func (f *filterRules) close() error {
	err := f.withdraw()
	if f.alive != nil {
		err = errors.Join(err, f.alive.Close())
	}
	f.alive = nil
	return err
}
