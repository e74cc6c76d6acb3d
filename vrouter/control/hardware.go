package control

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/kernel"
	"windtunnel/vrouter/offload"
	"windtunnel/vrouter/poll"
)

// A switchboard is a plane whose devices can be given rules to forward by in software's place. A device counts
// what its rules take, and the plane's account has that.
type switchboard interface {
	// Offers is what the device of each vif (0: the fabric) has to do with rules; nil takes them.
	Offers() map[uint32]error
	// Target is whose words rules are to be in.
	Target() offload.Target
	// GiveRules gives the rules of a plan that is right for the tables as they are, each to be taken or refused.
	GiveRules(offload.Plan) error
	// WithdrawRules takes all away again. After it packets meet the tables only; an error says where they do not.
	WithdrawRules() error
	// CountRules reads the devices' counters.
	CountRules() error
	Rules() []offload.Given
	// Taken is the account of what devices took since the process began.
	Taken() *offload.Account
}

var (
	_ switchboard = (*poll.Plane)(nil)
	_ switchboard = (*kernel.Dataplane)(nil)
)

// settle is how long the tables must have been left alone before devices get rules of them: rules hold for
// one state of the tables, and to give some thousand takes a while.
const settle = time.Second

// leastRest and mostRest are how long giving rules rests after it failed: twice as long each time. What failed may be mended without
// a change of the tables (a vRouter of the same name ends, memory is there again), and each try takes all rules away first.
const (
	leastRest = time.Second
	mostRest  = time.Minute
)

// hardware is what devices do by rules.
type hardware struct {
	board   switchboard
	changed time.Time // when the tables were, or what is wanted
	given   bool      // rules for the tables as they are
	plan    offload.Plan
	offers  map[uint32]error
	problem error
	failed  time.Time     // when rules could not be given
	rest    time.Duration // until they are tried again; 0: they were given
}

// Offloaded is what devices do in software's place.
type Offloaded struct {
	Rules   int    `json:"rules"`   // that devices have
	Packets uint64 `json:"packets"` // that these took
	Bytes   uint64 `json:"bytes"`   // of frames as they came
	// Forwarded and Dropped are by all rules that there were since the process began, as they are in the account.
	Forwarded Count `json:"forwarded"`
	Dropped   Count `json:"dropped"`
	Settled   bool  `json:"settled"` // else the tables have just changed, and rules are yet to be given
	// Ports are all, and "fabric": why their devices take no rules, "" if they do.
	Ports []OffloadPort `json:"ports"`
	// Refused are rules that devices did not take, by their reasons, and Software the ways that no rule was
	// made for.
	Refused  []OffloadReason `json:"refused"`
	Software []OffloadReason `json:"software"`
	// XDP is, in kernel mode, which devices run the fast path's programs themselves, and why others do not.
	XDP []OffloadPort `json:"xdp,omitempty"`
}

// OffloadPort is a port's device.
type OffloadPort struct {
	Port  string `json:"port"`
	Takes bool   `json:"takes"`
	Why   string `json:"why,omitempty"`
	// Rules are those that it has, and Received what came by the port and its rules took, since the process began: in the
	// account, too.
	Rules    int   `json:"rules,omitempty"`
	Received Count `json:"received,omitzero"`
}

// OffloadReason is why so many are not a device's.
type OffloadReason struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// offloadFlows reads the flows that a configuration names.
func offloadFlows(c config.Config) ([]offload.Flow, error) {
	flows := make([]offload.Flow, len(c.OffloadFlows))
	for i, text := range c.OffloadFlows {
		var err error
		if flows[i], err = offload.ParseFlow(text); err != nil {
			return nil, &config.Error{Path: fmt.Sprintf("offload_flows[%d]", i), Message: err.Error()}
		}
	}
	return flows, nil
}

// withdraw leaves all packets to software, because the tables are about to change.
func (a *Agent) withdraw() {
	h := &a.hardware
	h.changed, h.plan, h.given, h.rest = time.Now(), offload.Plan{}, false, 0
	if h.board != nil {
		h.problem = h.board.WithdrawRules()
	}
}

// countRules is for who reads the account.
func (a *Agent) countRules() {
	if h := &a.hardware; h.given {
		_ = h.board.CountRules() // an error is the status' problem, by the next look
	}
}

// rulesLocked gives rules once the tables are at rest, and counts what those take that there are.
func (a *Agent) rulesLocked() error {
	h := &a.hardware
	switch {
	case h.board == nil || a.config.Offload != config.OffloadAuto:
		return h.problem
	case h.given && (h.rest == 0 || time.Since(h.failed) < h.rest):
		return errors.Join(h.problem, h.board.CountRules())
	case time.Since(h.changed) < settle || !a.settled:
		return h.problem
	}
	if h.given { // what a device has of them is withdrawn, or it would be given twice
		if h.problem = h.board.WithdrawRules(); h.problem != nil {
			h.restLonger()
			return h.problem
		}
	}
	flows, err := offloadFlows(a.config)
	if err != nil {
		return err
	}
	h.offers = h.board.Offers()
	takes := func(vif uint32) bool { why, there := h.offers[vif]; return there && why == nil }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(h.offers)), takes) {
		return h.problem // perhaps later: a process may be on its way
	}
	if err := a.knownFlows(flows); err != nil {
		return err
	}
	h.plan = offload.Translate(a.image, offload.Options{Target: h.board.Target(), Flows: flows, Ports: a.view().devices(), From: takes})
	if h.given, h.problem = true, h.board.GiveRules(h.plan); h.problem != nil {
		h.restLonger()
	} else {
		h.rest = 0
	}
	return h.problem
}

func (h *hardware) restLonger() {
	h.failed, h.rest = time.Now(), min(max(leastRest, 2*h.rest), mostRest)
}

// knownFlows marks the flows that there is a record of, from either end: those are software's.
func (a *Agent) knownFlows(flows []offload.Flow) error {
	type ends struct {
		vif      uint32
		protocol uint8
		from, to string
	}
	slots, index := a.view().slots(), make(map[ends]int)
	for i, f := range flows {
		slot := slots[config.ID(f.Port)]
		if a.image.Vifs[slot].Policy != 0 {
			index[ends{slot, f.Protocol, netip.AddrPortFrom(f.Source, f.From).String(), netip.AddrPortFrom(f.Destination, f.To).String()}] = i
		}
	}
	if len(index) == 0 {
		return nil
	}
	return a.plane.EachFlow(func(key core.FlowKey, _ core.Flow) error {
		known := ends{uint32(key.Vif), key.Protocol, flowEnd(key, key.Local, key.LocalPort), flowEnd(key, key.Remote, key.RemotePort)}
		if i, named := index[known]; named {
			flows[i].Known = true
		}
		return nil
	})
}

// offloadStatus is nil where nothing is to be offloaded.
func (a *Agent) offloadStatus() *Offloaded {
	h := &a.hardware
	if a.config.Offload != config.OffloadAuto {
		return nil
	}
	o := &Offloaded{Settled: h.given || len(h.offers) > 0, Ports: []OffloadPort{}, Refused: []OffloadReason{}, Software: []OffloadReason{}}
	o.XDP = a.offloadPorts(func(_, ifindex uint32) (error, bool) { why, tried := a.inDevice[ifindex]; return why, tried }, nil)
	refused, has := make(map[string]int), make(map[uint32]int)
	for _, r := range h.board.Rules() {
		o.Packets, o.Bytes = o.Packets+r.Packets, o.Bytes+r.Bytes
		if r.Taken {
			o.Rules++
			has[r.Vif]++
		} else {
			refused[r.Why]++
		}
	}
	o.Ports = a.offloadPorts(func(vif, _ uint32) (error, bool) { why, asked := h.offers[vif]; return why, asked }, has)
	totals := h.board.Taken().Totals()
	o.Forwarded, o.Dropped = countOf(totals.Forwarded), countOf(totals.Dropped())
	software := make(map[string]int)
	for _, r := range h.plan.Refused {
		software[string(r.Reason)]++
	}
	if h.plan.Cut {
		software[fmt.Sprintf("there are more than %d rules", offload.MaxRules)] = 1
	}
	o.Refused, o.Software = reasons(refused), reasons(software)
	return o
}

// offloadPorts asks of each port and the fabric why its device does not take something; nil: it does. Its rules are told where
// there are such.
func (a *Agent) offloadPorts(ask func(vif, ifindex uint32) (why error, asked bool), rules map[uint32]int) []OffloadPort {
	ports, names := []OffloadPort{}, a.view().devices()
	for _, vif := range slices.Sorted(maps.Keys(names)) {
		ifindex := a.facts.FabricIfindex
		if vif != 0 {
			ifindex = a.image.Vifs[vif].Ifindex
		}
		why, asked := ask(vif, ifindex)
		if !asked {
			continue
		}
		port := OffloadPort{Port: names[vif].Name, Takes: why == nil, Rules: rules[vif]}
		if why != nil {
			port.Why = why.Error()
		}
		if rules != nil {
			port.Received = countOf(a.takenFrom(vif))
		}
		ports = append(ports, port)
	}
	return ports
}

// takenFrom is what came by a vif, or by the fabric (0), and rules took.
func (a *Agent) takenFrom(vif uint32) core.Count {
	if taken := a.hardware.board.Taken(); vif != 0 {
		return taken.Vif(vif).Rx
	} else {
		return taken.Totals().ReceivedFabric
	}
}

// reasons are the most frequent first.
func reasons(count map[string]int) []OffloadReason {
	list := []OffloadReason{}
	for why, n := range count {
		list = append(list, OffloadReason{why, n})
	}
	slices.SortFunc(list, func(a, b OffloadReason) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Why, b.Why)) })
	return list
}

// Rule is a rule that a device was asked to take.
type Rule struct {
	Rule    string `json:"rule"`
	Taken   bool   `json:"taken"`
	Why     string `json:"why,omitempty"` // it was not
	Packets uint64 `json:"packets"`       // since it was
	Bytes   uint64 `json:"bytes"`         // of frames as they came
}

// Rules are those that devices were asked to take. The list ends after as many as were asked for.
type Rules struct {
	Rules []Rule `json:"rules"`
	All   int    `json:"all"`
}

// Rules lists them: limit many, [ListedFlows] for 0.
func (a *Agent) Rules(limit int) (Rules, error) {
	if limit < 0 || limit > MaxListedFlows {
		return Rules{}, Refuse(fmt.Errorf("%d rules cannot be listed; between 1 and %d can", limit, MaxListedFlows))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list := Rules{Rules: []Rule{}}
	if a.hardware.board == nil {
		return list, nil
	}
	a.countRules()
	rules := a.hardware.board.Rules()
	list.All = len(rules)
	for _, r := range rules[:min(len(rules), cmp.Or(limit, ListedFlows))] {
		list.Rules = append(list.Rules, Rule{r.Name, r.Taken, r.Why, r.Packets, r.Bytes})
	}
	return list, nil
}
