package traffic

import "windtunnel/result"

// Port is where an endpoint meets a data plane, if it is not by IP: at a port of poll mode, that a
// tester, a process of DPDK, holds for it; or at an interface from which no packet reaches the other
// end as the stack would send it.
type Port struct {
	Name    string `json:"name"`             // as the tester knows it
	Tester  string `json:"tester"`           // the Unix socket at which the tester is asked; in its folder, both ends meet
	Device  string `json:"device,omitempty"` // the interface, where there is no tester
	CPUs    []int  `json:"cpus,omitempty"`   // the endpoint's hot threads belong there; empty: anywhere
	MAC     string `json:"mac"`              // the endpoint's
	NextHop string `json:"next_hop"`         // the MAC that its frames are addressed to
	Address string `json:"address"`          // the endpoint's IP
	MTU     int    `json:"mtu"`              // bytes of an IP packet
	// Tunnel is what the endpoint's frames wear, nil for nothing: it is then no port of an
	// endpoint's own, but the far end of the data plane's fabric.
	Tunnel *result.Tunnel `json:"tunnel,omitempty"`
}

// AtPorts is a kind whose workers can be at a Port. Others need an interface.
type AtPorts interface {
	Kind
	AtPorts()
}
