package control

import (
	"fmt"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Count is packets as the hook saw them, segments as the wire would carry them, and bytes.
type Count struct {
	Packets  uint64 `json:"packets"`
	Segments uint64 `json:"segments"`
	Bytes    uint64 `json:"bytes"`
}

func countOf(c core.Count) Count { return Count{c.Packets, c.Segments, c.Bytes} }

// Account is what the data path counted for one port, or for all ports of a network.
type Account struct {
	core.VifCount
	core.VifDrops
}

func (a *Account) add(other Account) {
	a.VifCount.Add(other.VifCount)
	a.VifDrops.Add(other.VifDrops)
}

// Traffic is an account as a reply has it: rx = forwarded + answered + dropped.
type Traffic struct {
	Rx        Count             `json:"rx"` // from the containers
	Forwarded Count             `json:"forwarded"`
	Answered  Count             `json:"answered"`
	Dropped   Count             `json:"dropped"`
	Drops     map[string]uint64 `json:"drops"` // packets by reason, those that occurred
	Tx        Count             `json:"tx"`    // to the containers
	Lost      Count             `json:"lost"`  // of what the fabric had for them
	Losses    map[string]uint64 `json:"losses"`
}

func (a *Account) traffic() Traffic {
	dropped, lost := a.Dropped()
	return Traffic{
		Rx: countOf(a.Rx), Forwarded: countOf(a.Forwarded), Answered: countOf(a.Answered), Tx: countOf(a.Tx),
		Dropped: countOf(dropped), Drops: occurred(a.From[:]), Lost: countOf(lost), Losses: occurred(a.To[:]),
	}
}

func occurred(drops []core.Count) map[string]uint64 {
	packets := make(map[string]uint64)
	for i, count := range drops {
		if count.Packets > 0 {
			packets[core.DropReasons[i].Name] = count.Packets
		}
	}
	return packets
}

// Stats is the whole account: received = forwarded + passed + answered + dropped.
type Stats struct {
	Received       Count             `json:"received"`
	ReceivedVif    Count             `json:"received_vif"`
	ReceivedFabric Count             `json:"received_fabric"`
	Forwarded      Count             `json:"forwarded"`
	Passed         Count             `json:"passed"`
	Answered       Count             `json:"answered"`
	Dropped        Count             `json:"dropped"`
	Drops          map[string]uint64 `json:"drops"`   // packets by reason, those that occurred
	Flooded        Count             `json:"flooded"` // received for all of a network; and what became of it:
	Copies         Count             `json:"copies"`  // that left
	CopiesDropped  Count             `json:"copies_dropped"`
	CopyDrops      map[string]uint64 `json:"copy_drops"`
	Fast           FastStats         `json:"fast"` // packets that XDP forwarded, of those received
	Networks       []NetworkStats    `json:"networks"`
	Vifs           []VifStats        `json:"vifs"`
}

// NetworkStats is one network's account: that of its ports, also of those that were removed since
// the start.
type NetworkStats struct {
	Name  string `json:"name"`
	Ports int    `json:"ports"`
	Flows uint64 `json:"flows"` // of its ports in flow mode, now
	Traffic
}

// VifStats is one port's account.
type VifStats struct {
	Name    string `json:"name"`
	Network string `json:"network"`
	Traffic
}

// account reads what was counted for a vif.
func (a *Agent) account(slot uint32) (account Account, err error) {
	if account.VifCount, err = a.plane.VifCount(slot); err != nil {
		return account, err
	}
	account.VifDrops, err = a.plane.VifDrops(slot)
	return account, err
}

// leaving are the vifs that an image has no more, and their networks.
func (a *Agent) leaving(w wish) map[uint32]string {
	names := make(map[uint64]string)
	for _, n := range a.config.Networks {
		names[config.ID(n.Name)] = n.Name
	}
	left := make(map[uint32]string)
	for slot, vif := range a.image.Vifs {
		if _, stays := w.image.Vifs[slot]; !stays {
			left[slot] = names[a.image.VRFs[vif.VRF].ID]
		}
	}
	return left
}

// keepCounts adds the account of ports that are gone to their networks', so that those only grow.
// It is for when no packet is under way to such a port any more.
func (a *Agent) keepCounts(left map[uint32]string) {
	for slot, network := range left {
		if account, err := a.account(slot); err == nil {
			sum := a.past[network]
			sum.add(account)
			a.past[network] = sum
		}
	}
	for network := range a.past {
		if !slices.ContainsFunc(a.config.Networks, func(n config.Network) bool { return n.Name == network }) {
			delete(a.past, network)
		}
	}
}

// eachAccount reads the accounts of a scope's ports, in the configuration's order.
func (a *Agent) eachAccount(s Scope, do func(config.Port, Account)) error {
	slots := a.view().slots()
	for _, p := range a.config.Ports {
		slot, ok := slots[config.ID(p.Name)]
		if !ok || !s.has(p) {
			continue
		}
		account, err := a.account(slot)
		if err != nil {
			return err
		}
		do(p, account)
	}
	return nil
}

// accounts lists the accounts of a scope's ports, and adds them up by network.
func (a *Agent) accounts(s Scope) (vifs []VifStats, networks map[string]*Account, err error) {
	networks = make(map[string]*Account)
	for _, n := range a.config.Networks {
		past := a.past[n.Name]
		networks[n.Name] = &past
	}
	vifs = []VifStats{}
	err = a.eachAccount(s, func(p config.Port, account Account) {
		networks[p.Network].add(account)
		vifs = append(vifs, VifStats{p.Name, p.Network, account.traffic()})
	})
	return vifs, networks, err
}

// Stats gives the whole account; the lists have what is in the scope.
func (a *Agent) Stats(scope Scope) (Stats, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.view().check(scope); err != nil {
		return Stats{}, err
	}
	a.countRules()
	totals, err := a.plane.Totals()
	if err != nil {
		return Stats{}, fmt.Errorf("adding up: %w", err)
	}
	s := Stats{
		Received: countOf(totals.Received()), ReceivedVif: countOf(totals.ReceivedVif), ReceivedFabric: countOf(totals.ReceivedFabric),
		Forwarded: countOf(totals.Forwarded), Passed: countOf(totals.Passed), Answered: countOf(totals.Answered),
		Dropped: countOf(totals.Dropped()), Drops: occurred(totals.Drops[:]), Networks: []NetworkStats{},
		Flooded: countOf(totals.Flooded), Copies: countOf(totals.Copies),
		CopiesDropped: countOf(totals.CopiesDropped()), CopyDrops: occurred(totals.CopyDrops[:]),
	}
	if s.Fast, err = a.fastStats(); err != nil {
		return Stats{}, err
	}
	var networks map[string]*Account
	if s.Vifs, networks, err = a.accounts(scope); err != nil {
		return Stats{}, err
	}
	flows := a.flowsOf()
	for _, n := range a.config.Networks {
		if scope.Port == "" && (scope.Network == "" || scope.Network == n.Name) {
			s.Networks = append(s.Networks, NetworkStats{n.Name, a.portsOf(n.Name), flows[n.Name], networks[n.Name].traffic()})
		}
	}
	return s, nil
}

func (a *Agent) portsOf(network string) (count int) {
	for _, p := range a.config.Ports {
		if p.Network == network {
			count++
		}
	}
	return count
}
