package golden

import "windtunnel/vrouter/core"

// Told is what a trace's steps say in the end.
func Told(trace core.Trace) (op, drop string) {
	for _, s := range trace.Steps {
		switch s.Step {
		case core.StepVerdict:
			op, drop = core.OperationNames[s.A], core.DropReasons[s.B].Name
		case core.StepLoss:
			op, drop = "drop", core.DropReasons[s.A].Name
		}
	}
	if op != "drop" {
		drop = ""
	}
	return op, drop
}
