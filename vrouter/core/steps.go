package core

// The steps of a decision, as in vr_trace.h; a test compares them.
const (
	StepNone = iota
	StepVif
	StepSource
	StepARP
	StepTTL
	StepRoute
	StepLabel
	StepVNI
	StepOuter
	StepECN
	StepHanded
	StepFits
	StepVerdict
	StepLoss
	StepPass
	StepLeave
	StepSource6
	StepTarget6
	StepRoute6
	StepND
)

// StepNames are what the tools call the steps, by number.
var StepNames = [...]string{"", "vif", "source", "arp", "ttl", "route", "label", "vni", "outer", "ecn", "handed", "fits", "verdict", "loss", "pass", "leave",
	"source6", "target6", "route6", "nd"}

// OperationNames are what may become of a packet, by the number that vr_decide.h gives it.
var OperationNames = [...]string{"drop", "pass", "arp", "echo", "too_big", "encap", "tunnel", "decap", "nd"}
