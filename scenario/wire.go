package scenario

// Wire is the link between the nodes.
type Wire struct {
	Kind   string // nic or memory
	MTU    int    // bytes of an IP packet; default 1500
	Queues int    // 0: the planner's
	VMQ    string // a receive queue for each destination: on, off, or auto
	Spread string // whose work several CPUs do: none, receive, send, both, or auto
}

// The kinds of Wire.
const (
	WireNIC    = "nic"
	WireMemory = "memory"
)

// Auto leaves a setting of Wire to the path.
const Auto = "auto"

// The words of Wire.Spread, beside Auto.
const (
	SpreadNone    = "none"
	SpreadReceive = "receive"
	SpreadSend    = "send"
	SpreadBoth    = "both"
)

const defaultMTU = 1500

func (d *draft) setWire(n *node) {
	r, wire := d.r, &d.cell.Wire
	word := func(to *string, what string, words ...string) func(*node) {
		return func(n *node) {
			if v, ok := r.word(n, what, words); ok {
				*to = v
			}
		}
	}
	r.readKeys(n, "`wire`", []handler{
		{key: "kind", read: word(&wire.Kind, "wire", WireNIC, WireMemory)},
		{key: "mtu", read: func(n *node) {
			if v, ok := r.count(n, "the wire's MTU", minMTU, maxMTU); ok {
				wire.MTU = v
			}
		}},
		{key: "queues", read: func(n *node) {
			if v, ok := r.count(n, "`queues`", 1, maxQueues); ok {
				wire.Queues = v
			}
		}},
		{key: "vmq", read: word(&wire.VMQ, "value of `vmq`", Auto, "off", "on")},
		{key: "spread", read: word(&wire.Spread, "value of `spread`", Auto, SpreadNone, SpreadReceive, SpreadSend, SpreadBoth)},
	})
}
