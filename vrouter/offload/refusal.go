package offload

import "fmt"

// Reason is why no rule can say something.
type Reason string

// The reasons.
const (
	FlowMode     Reason = "flow_mode"     // a port's flows are kept and aged in software
	NeedsFlow    Reason = "needs_flow"    // it depends on the flow, which no prefix tells
	Nested       Reason = "nested"        // a more specific route lies inside, and rules have no order
	Unresolved   Reason = "unresolved"    // the far end's MAC address is not known
	TooLong      Reason = "mtu"           // the port may send what does not fit
	Bridged      Reason = "bridged"       // frames that go by MAC address
	NotForwarded Reason = "not_forwarded" // software answers, drops or loses it
	TenantTunnel Reason = "tenant_tunnel" // a tunnel packet of a container is lost
	Unmatchable  Reason = "unmatchable"   // some packets to it are lost, and no pattern tells which
	NoWords      Reason = "no_words"      // the target cannot express it
	Spoofed      Reason = "spoofed"       // the source is not the port's own
)

// A Refusal is a way that has no rules.
type Refusal struct {
	What   string `json:"what"`
	Reason Reason `json:"reason"`
	Says   string `json:"says"`
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s", r.What, r.Reason, r.Says) }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Says: fmt.Sprintf(format, args...)}
}
