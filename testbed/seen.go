package testbed

// Seen is what a network stack has, as it was read: nothing of it is the testbed's.
type Seen struct {
	// Machine and Stack tell whether two are of one kernel, and one and the same; empty: not known.
	Machine string     `json:"machine,omitempty"`
	Stack   string     `json:"stack,omitempty"`
	Links   []SeenLink `json:"links"`
	More    int        `json:"more,omitempty"` // links beyond MaxSeenLinks
}

// MaxSeenLinks bounds how many links of a stack are told of.
const MaxSeenLinks = 1024

// SeenLink is an interface.
type SeenLink struct {
	Name      string   `json:"name"`
	Index     int      `json:"index"`
	Kind      string   `json:"kind"`             // the kernel's word: veth, bridge, vxlan, openvswitch; device: hardware, or a driver without one
	Driver    string   `json:"driver,omitempty"` // of a device
	MTU       int      `json:"mtu"`
	Up        bool     `json:"up"`
	Addresses []string `json:"addresses,omitempty"` // prefixes
	Master    int      `json:"master,omitempty"`    // the index of the bridge, bond or switch that it is a port of
	Parent    int      `json:"parent,omitempty"`    // a veth's other end, what a VLAN, macvlan or tunnel stands on
	Elsewhere bool     `json:"elsewhere,omitempty"` // the parent is in another stack
	Detail    string   `json:"detail,omitempty"`    // of a tunnel: its identifier and ends
	On        []string `json:"on,omitempty"`        // of TSO, GSO and GRO those that are on
	Off       []string `json:"off,omitempty"`       // and those that are off
	Programs  []string `json:"programs,omitempty"`  // of BPF: "xdp NAME", "tc ingress NAME"
	Default   bool     `json:"default,omitempty"`   // packets for anywhere leave by it
}
