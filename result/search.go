package result

// Search is one search for the highest rates that a path carries at given losses:
// what was asked (MinLoad to Goals), each trial, and what was found. Terms are
// those of draft-ietf-bmwg-mlrsearch-15, section 4. Loads are the total of the cell's pairs, one way, in Unit.
type Search struct {
	Record         string         `json:"record"`
	Cell           string         `json:"cell,omitempty"`
	Method         string         `json:"method"`   // mlrsearch, rfc2544 or tst009
	Unit           string         `json:"unit"`     // packets/s, or bit/s of payload
	MinLoad        float64        `json:"min_load"` // no trial has less, none more than MaxLoad
	MaxLoad        float64        `json:"max_load"`
	BudgetSeconds  float64        `json:"budget_seconds,omitempty"` // of traffic, waits included; 0: none
	Goals          []SearchGoal   `json:"goals"`
	Found          []SearchResult `json:"found"` // one for each goal, in their order
	Trials         []SearchTrial  `json:"trials"`
	TrafficSeconds float64        `json:"traffic_seconds"` // the trials' effective durations, summed
	SpentSeconds   float64        `json:"spent_seconds"`   // with what the measurer needs around them
	Ended          string         `json:"ended"`           // goals, budget, interrupted or failed
	Error          string         `json:"error,omitempty"`
	// GeneratorLimit is the rate that the generator reached where it was asked for
	// more; 0: it always kept up.
	GeneratorLimit float64         `json:"generator_limit,omitempty"`
	Durations      string          `json:"durations"` // how effective durations come about
	Latencies      []SearchLatency `json:"latencies,omitempty"`
	Doubts         []Doubt         `json:"doubts,omitempty"`
}

// Find is what a suite asks a search for.
type Find struct {
	Losses        []float64 `json:"loss"` // ratios, each a goal
	Method        string    `json:"method"`
	Unit          string    `json:"unit,omitempty"`     // "": the kind's first
	Min           float64   `json:"min_load,omitempty"` // 0: chosen
	Max           float64   `json:"max_load,omitempty"` // 0: what the generator reaches
	BudgetSeconds float64   `json:"budget_seconds,omitempty"`
}

// The methods of a Search.
const (
	MethodMLR     = "mlrsearch"
	MethodRFC2544 = "rfc2544"
	MethodTST009  = "tst009"
)

// The words of Search.Ended.
const (
	SearchGoals       = "goals"
	SearchBudget      = "budget"
	SearchInterrupted = "interrupted"
	SearchFailed      = "failed"
)

// The units of a Search.
const (
	PacketsPerSecond = "packets/s"
	BitsPerSecond    = "bit/s"
)

// SearchGoal is a Search Goal with all its attributes.
type SearchGoal struct {
	LossRatio              float64 `json:"loss_ratio"`
	ExceedRatio            float64 `json:"exceed_ratio"` // of the time at a lower bound, in which the loss may be higher
	FinalTrialSeconds      float64 `json:"final_trial_seconds"`
	DurationSumSeconds     float64 `json:"duration_sum_seconds"`
	InitialTrialSeconds    float64 `json:"initial_trial_seconds"`
	Width                  float64 `json:"width"`                              // relative: 1 - lower bound / upper bound
	Repeats                int     `json:"repeats,omitempty"`                  // TST009: trials after a lossy one
	LargestIntervalPercent float64 `json:"largest_interval_percent,omitempty"` // of a rate in noise, at which trials end
}

// SearchResult is a Goal Result. A bound of 0 does not exist.
type SearchResult struct {
	// Regular: both relevant bounds exist, no further apart than the goal's width.
	// Where it is false, the values are the best of what there is.
	Regular               bool    `json:"regular"`
	Why                   string  `json:"why,omitempty"` // it is not regular
	LowerBound            float64 `json:"relevant_lower_bound,omitempty"`
	UpperBound            float64 `json:"relevant_upper_bound,omitempty"`
	ConditionalThroughput float64 `json:"conditional_throughput,omitempty"`
	// Rate is the load at which the goal is just met, with its interval, by what
	// Basis says: bounds, limits, outcomes, modes or sent.
	Rate  Figure `json:"rate"`
	Basis string `json:"basis,omitempty"`
	// Reached is what generator and path carried together where it was the generator that set the rate: the path carries
	// Rate's lower bound or more, and Rate has no upper one.
	Reached *Figure `json:"reached,omitempty"`
	// ShortFrom is the lowest load above LowerBound at which the generator fell short in most trials; 0: the path or nothing set the rate.
	ShortFrom float64 `json:"short_from,omitempty"`
	// Limit is what set the rate: the path, the generator or the receiver;
	// rate-reached: nothing up to the largest load.
	Limit Limit `json:"limit"`
}

// The words of SearchResult.Basis.
const (
	BasisBounds   = "bounds"   // the relevant bounds: trials agree with each other
	BasisLimits   = "limits"   // what arrived in each trial that lost, fitted
	BasisOutcomes = "outcomes" // which trials met the goal, fitted
	BasisModes    = "modes"    // as limits, of one of two ways in which the path behaves
	BasisSent     = "sent"     // as outcomes, by what a generator that keeps no such load really sent
)

// SearchTrial is a Trial Result. Counts are in the search's unit times seconds.
type SearchTrial struct {
	Load             float64 `json:"load"` // intended
	Seconds          float64 `json:"seconds"`
	EffectiveSeconds float64 `json:"effective_seconds"`
	OfferedLoad      float64 `json:"offered_load"`    // what was really sent by the second; intervals are in its terms
	Short            float64 `json:"short,omitempty"` // share of the load that a generator never sent, which mlrsearch counts as not carried
	Sent             float64 `json:"sent"`
	Received         float64 `json:"received"`
	Queued           float64 `json:"queued,omitempty"` // of Received: by how much a queue grew, which counts as lost
	LossRatio        float64 `json:"loss_ratio"`
	ForwardingRate   float64 `json:"forwarding_rate"`  // load times the share that came
	Waited           float64 `json:"waited,omitempty"` // share of the time in which the generator's threads could run and had no CPU, the kernel's packet work aside
	Limit            string  `json:"limit,omitempty"`  // the measurer's verdict
	Unusable         string  `json:"unusable,omitempty"`
}

// SearchLatency is the latency at a share of what was found for the first goal
// that something was found for.
type SearchLatency struct {
	Share     float64           `json:"share"`
	Load      float64           `json:"load"`
	LossRatio float64           `json:"loss_ratio"`
	Seconds   map[string]Figure `json:"latency_seconds"` // by quantile: p50, p99
	Reason    string            `json:"reason,omitempty"`
}
