package control

import (
	"net/netip"
	"time"
)

// Status says what runs.
type Status struct {
	Name           string     `json:"name"`
	Mode           string     `json:"mode"` // "kernel" or "poll"
	Fabric         string     `json:"fabric"`
	FabricDevice   string     `json:"fabric_device,omitempty"` // poll mode: what tunnel packets travel by, if that is no interface of the host's stack
	FabricDriver   string     `json:"fabric_driver,omitempty"` // poll mode: how it is reached
	Address        string     `json:"address,omitempty"`
	Address6       string     `json:"address6,omitempty"`
	Receive        string     `json:"receive"` // where tunnel packets lose their outer headers: "tc", "socket" or "xdp"
	ReceiveWhy     string     `json:"receive_why"`
	Fast           Fast       `json:"fast"` // of the fabric
	KernelFeatures []string   `json:"kernel_features"`
	Networks       int        `json:"networks"`
	Ports          int        `json:"ports"`
	Routes         int        `json:"routes"`
	Stale          int        `json:"stale_routes"`
	Groups         int        `json:"ecmp_groups"`
	Avoided        int        `json:"ecmp_avoided"`      // members of groups that get no flow, because they cannot be reached
	Unresolved     []string   `json:"unresolved"`        // tunnel ends whose MAC is not known
	Missing        []string   `json:"missing"`           // ports whose interface is gone
	Problem        string     `json:"problem,omitempty"` // what the machine lacks now, and what to do
	Applied        time.Time  `json:"applied"`
	Changes        int        `json:"changes"` // configurations applied since the start
	Poll           *Poll      `json:"poll,omitempty"`
	Offload        *Offloaded `json:"offload,omitempty"` // where the configuration asks for it
}

// Status gathers it.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Status{
		Name: a.config.Name, Mode: a.mode(), Poll: a.pollStatus(), Offload: a.offloadStatus(), Fabric: a.config.Fabric.Interface, Address: text(a.config.Fabric.Address), Address6: text(a.config.Fabric.Address6),
		Receive: string(a.receive.Way), ReceiveWhy: a.receive.Why,
		KernelFeatures: a.plane.Features(), Networks: len(a.config.Networks), Ports: len(a.config.Ports), Routes: a.image.RouteCount(),
		Unresolved: []string{}, Missing: []string{}, Problem: a.problem, Applied: a.applied, Changes: a.changes,
	}
	if a.poll != nil {
		at := a.config.Fabric.Attachment(0, 0)
		s.FabricDriver = string(at.Driver)
		if at.Host != "" {
			s.FabricDevice = at.Interface
		}
	}
	s.Stale = a.image.StaleCount()
	s.Groups, s.Avoided = a.view().groups()
	s.Fast, _ = a.fastRow(a.facts.FabricIfindex, 0) // without counters if they cannot be read
	for _, remote := range remotes(a.image.Ways(a.config)) {
		if _, ok := a.facts.Neighbours[remote]; !ok {
			s.Unresolved = append(s.Unresolved, remote.String())
		}
	}
	for _, p := range a.config.Ports {
		if _, ok := a.facts.Interfaces[p.Place()]; !ok {
			s.Missing = append(s.Missing, p.Name)
		}
	}
	return s
}

// text is an address', "" if there is none.
func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
