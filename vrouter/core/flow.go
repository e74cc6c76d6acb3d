package core

// What vr_flow.h says of flows; tests compare them.
const (
	FlowOut = 0
	FlowIn  = 1

	FlowAnswered  = 1
	FlowConfirmed = 2
	FlowFinOpener = 4
	FlowFinAnswer = 8
	FlowReset     = 16

	FamilyIP4      = 4
	FamilyIP6      = 6
	FamilyFragment = 128

	ProtocolICMP  = 1
	ProtocolTCP   = 6
	ProtocolUDP   = 17
	ProtocolICMP6 = 58
	// ProtocolFragment6 is of the fragments of IPv6 packets: what they carry, only the first says.
	ProtocolFragment6 = 44
)

// RuleWhat is the word by which a rule is compared with a flow, but for addresses and ports; it makes
// the mask of one, too.
func RuleWhat(direction, family, protocol uint8) uint32 {
	return uint32(direction)<<16 | uint32(family)<<8 | uint32(protocol)
}

// FlowState is how far a flow has come.
type FlowState int

// The states of flows.
const (
	FlowOpening     FlowState = iota // not answered yet; TCP: the handshake is not over
	FlowEstablished                  // both sides have sent
	FlowClosing                      // TCP: both have sent all, or one has broken off
)

var flowStates = [...]string{"opening", "established", "closing"}

func (s FlowState) String() string { return flowStates[s] }

// FlowStateOf tells a flow's state from its protocol and marks, as vr_flow_state does.
func FlowStateOf(protocol uint8, marks uint32) FlowState {
	const both = FlowFinOpener | FlowFinAnswer
	established := uint32(FlowAnswered)
	if protocol == ProtocolTCP {
		established = FlowConfirmed
	}
	switch {
	case marks&FlowReset != 0 || marks&both == both:
		return FlowClosing
	case marks&established != 0:
		return FlowEstablished
	}
	return FlowOpening
}
