package result

// Why is a ratio whose suspects are tried by further cells of the same blocks, and those that this path, or this
// machine, cannot try.
type Why struct {
	Ratio    Ratio      `json:"ratio"`
	Untested []Untested `json:"untested,omitempty"`
}

// Untested is a suspect that was not tried.
type Untested struct {
	Factor string `json:"factor"`
	Reason string `json:"reason"`
}

// Intervention is what a further cell tries: Of, one of the two cells of a ratio, with one factor changed. Both says
// that the factor was changed alike in both, so that the ratio is compared without it (a cell that it leaves as it was
// has none beside it); else the first of the two has it as the second.
type Intervention struct {
	Ratio  Ratio  `json:"ratio"`
	Of     string `json:"of"`
	Factor string `json:"factor"`
	Both   bool   `json:"both,omitempty"`
	Says   string `json:"says"` // what was changed: "GRO off in both"
}
