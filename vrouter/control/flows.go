package control

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Flow is a flow's row: out is from the container, in to it.
type Flow struct {
	Port        string `json:"port"`
	Network     string `json:"network"`
	Protocol    string `json:"protocol"`
	Local       string `json:"local"`
	Remote      string `json:"remote"`
	Opened      string `json:"opened"` // "out" or "in": the direction of the first packet
	State       string `json:"state"`  // "opening", "established", "closing", or "fragments"
	IdleSeconds int    `json:"idle_seconds"`
	OutPackets  uint64 `json:"out_packets"`
	OutBytes    uint64 `json:"out_bytes"`
	InPackets   uint64 `json:"in_packets"`
	InBytes     uint64 `json:"in_bytes"`
}

// FlowUse is how much of the table a network has.
type FlowUse struct {
	Network string `json:"network"`
	Flows   uint64 `json:"flows"`
	Quota   uint32 `json:"quota,omitempty"` // none if 0
	Share   bool   `json:"share,omitempty"` // the configuration names no quota: this is what others leave it
}

// Flows is what the table of flows holds. The list ends after as many as were asked for, in no order;
// the counts have all.
type Flows struct {
	Flows    []Flow         `json:"flows"`
	Matched  int            `json:"matched"` // flows in the scope
	States   map[string]int `json:"states"`  // of these
	Table    uint32         `json:"table"`   // how many there is room for
	Networks []FlowUse      `json:"networks"`
}

const (
	// ListedFlows is how many flows are listed when nobody says.
	ListedFlows = 100
	// MaxListedFlows is how many can be asked for.
	MaxListedFlows = 10_000
)

// flowPort is what a flow's row says of its vif.
type flowPort struct{ port, network string }

// flowPorts are the vifs of a scope, and what networks have of the table.
func (a *Agent) flowPorts(scope Scope) (ports map[uint16]flowPort, use []FlowUse, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.view().check(scope); err != nil {
		return nil, nil, err
	}
	ports, slots := make(map[uint16]flowPort), a.view().slots()
	for _, p := range a.config.Ports {
		if slot, ok := slots[config.ID(p.Name)]; ok && scope.has(p) {
			ports[uint16(slot)] = flowPort{p.Name, p.Network}
		}
	}
	use = []FlowUse{}
	flows, quotas := a.flowsOf(), a.config.FlowQuotas()
	for _, n := range a.config.Networks {
		if scope.Network == "" || scope.Network == n.Name {
			use = append(use, FlowUse{n.Name, flows[n.Name], quotas[n.Name], n.Flows != quotas[n.Name]})
		}
	}
	return ports, use, nil
}

// flowsOf is how many flows each network has.
func (a *Agent) flowsOf() map[string]uint64 {
	ids := make(map[uint64]uint64)
	for slot, vrf := range a.image.VRFs {
		ids[vrf.ID] = a.plane.FlowsOf(slot)
	}
	flows := make(map[string]uint64)
	for _, n := range a.config.Networks {
		flows[n.Name] = ids[config.ID(n.Name)]
	}
	return flows
}

// Flows reads the table of flows. Packets and changes go on meanwhile.
func (a *Agent) Flows(scope Scope, limit int) (Flows, error) {
	if limit < 0 || limit > MaxListedFlows {
		return Flows{}, Refuse(fmt.Errorf("%d flows cannot be listed; between 1 and %d can", limit, MaxListedFlows))
	}
	limit = cmp.Or(limit, ListedFlows)
	ports, use, err := a.flowPorts(scope)
	if err != nil {
		return Flows{}, err
	}
	all := Flows{Flows: []Flow{}, States: make(map[string]int), Table: a.plane.FlowTable(), Networks: use}
	err = a.plane.EachFlow(func(key core.FlowKey, flow core.Flow) error {
		port, ok := ports[key.Vif]
		if !ok {
			return nil
		}
		row := flowRow(port, key, flow)
		all.States[row.State]++
		if all.Matched++; len(all.Flows) < limit {
			all.Flows = append(all.Flows, row)
		}
		return nil
	})
	return all, err
}

var protocolNames = map[uint8]string{core.ProtocolICMP: "icmp", core.ProtocolTCP: "tcp", core.ProtocolUDP: "udp", core.ProtocolICMP6: "icmp6", core.ProtocolFragment6: "ipv6-frag"}

func flowRow(port flowPort, key core.FlowKey, flow core.Flow) Flow {
	row := Flow{
		Port: port.port, Network: port.network, Protocol: protocolNames[key.Protocol],
		Local: flowEnd(key, key.Local, key.LocalPort), Remote: flowEnd(key, key.Remote, key.RemotePort),
		Opened: "out", State: core.FlowStateOf(key.Protocol, flow.Marks).String(), IdleSeconds: int(flowIdle(flow) / time.Second),
		OutPackets: flow.Packets[core.FlowOut], OutBytes: flow.Bytes[core.FlowOut],
		InPackets: flow.Packets[core.FlowIn], InBytes: flow.Bytes[core.FlowIn],
	}
	if row.Protocol == "" {
		row.Protocol = fmt.Sprint(key.Protocol)
	}
	if flow.Opener == core.FlowIn {
		row.Opened = "in"
	}
	if key.Family&core.FamilyFragment != 0 {
		row.State = "fragments"
		row.Local, row.Remote = flowAddress(key, key.Local).String(), flowAddress(key, key.Remote).String()
	}
	return row
}

// flowIdle is how long ago a flow had its last packet.
func flowIdle(flow core.Flow) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every kernel has this clock
	}
	return time.Duration(now.Nano() - int64(flow.Seen))
}

func flowEnd(key core.FlowKey, a core.Addr, port uint16) string {
	return netip.AddrPortFrom(flowAddress(key, a), port).String()
}

func flowAddress(key core.FlowKey, a core.Addr) netip.Addr {
	if key.Family&core.FamilyIP6 == core.FamilyIP6 {
		return a.IPv6()
	}
	return a.IPv4()
}

const (
	// ageEvery is how often silent flows are looked for, at most.
	ageEvery = time.Second
	// ageShare bounds what that takes of one CPU: a look through a full table may take seconds.
	ageShare = 20
)

// age removes flows that are silent for too long, until the context ends.
func (a *Agent) age(ctx context.Context) {
	defer a.watch.Done()
	timer := time.NewTimer(ageEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begun := time.Now()
		a.mu.Lock()
		idle := a.config.Idle
		a.mu.Unlock()
		// What fails is tried again at the next look.
		_, _ = a.plane.RemoveFlows(func(key core.FlowKey, flow core.Flow) bool {
			return flowIdle(flow) > idle.Of(key, core.FlowStateOf(key.Protocol, flow.Marks))
		})
		timer.Reset(max(ageEvery, ageShare*time.Since(begun)))
	}
}

// dropFlows removes the flows of vifs that were in flow mode and are not any more. It is for when no
// packet is under way to them.
func (a *Agent) dropFlows(before, after config.Image) error {
	left := make(map[uint16]bool)
	for slot, vif := range before.Vifs {
		if vif.Policy != 0 && after.Vifs[slot].Policy == 0 {
			left[uint16(slot)] = true
		}
	}
	if len(left) == 0 {
		return nil
	}
	_, err := a.plane.RemoveFlows(func(key core.FlowKey, _ core.Flow) bool { return left[key.Vif] })
	return err
}

// dropStrayFlows removes what a process that was killed amid a change left.
func (a *Agent) dropStrayFlows() error {
	_, err := a.plane.RemoveFlows(func(key core.FlowKey, _ core.Flow) bool {
		return a.image.Vifs[uint32(key.Vif)].Policy == 0
	})
	return err
}
