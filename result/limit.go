package result

import "fmt"

// The verdicts of a Limit.
const (
	RateReached      = "rate-reached"
	PathLimited      = "path-limited"
	GeneratorLimited = "generator-limited"
	ReceiverLimited  = "receiver-limited"
)

// Limit says what bounded a pair's traffic, and by which evidence.
type Limit struct {
	Verdict string `json:"verdict"`
	Says    string `json:"says"`
}

// severity orders the verdicts by how much they put a result in doubt: what was measured of a path by a generator at its limit is not the
// path.
var severity = map[string]int{RateReached: 1, PathLimited: 2, ReceiverLimited: 3, GeneratorLimited: 4}

// Nearer tells of two verdicts whether the one is the nearer limit than the other: of what bounds parts of one traffic, that counts.
func Nearer(one, other string) bool { return severity[one] > severity[other] }

// Limit is the nearest limit of the trial's pairs, with the pair's name where there are several; no verdict where none has one.
func (t Trial) Limit() (nearest Limit) {
	for _, p := range t.Pairs {
		if p.Limit != nil && p.Limit.Verdict != "" && Nearer(p.Limit.Verdict, nearest.Verdict) {
			nearest = t.limitOf(p)
		}
	}
	return nearest
}

// Limits are those of the trial's pairs that have a verdict: of each verdict the last.
func (t Trial) Limits() map[string]Limit {
	all := map[string]Limit{}
	for _, p := range t.Pairs {
		if p.Limit != nil && p.Limit.Verdict != "" {
			all[p.Limit.Verdict] = t.limitOf(p)
		}
	}
	return all
}

func (t Trial) limitOf(p PairSample) Limit {
	limit := *p.Limit
	if len(t.Pairs) > 1 {
		limit.Says = fmt.Sprintf("%s to %s: %s", p.From, p.To, limit.Says)
	}
	return limit
}
