package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Figure is one number that a report prints: a mean over N trials with the
// bounds of its interval, or the Reason why there is none. Low and High are nil
// where N trials are too few to bound the mean.
type Figure struct {
	Mean   float64
	Low    *float64
	High   *float64
	N      int
	Reason string
}

// Missing is a figure that could not be had, and why.
func Missing(reason string) Figure { return Figure{Reason: reason} }

// Known reports whether the figure holds a number.
func (f Figure) Known() bool { return f.Reason == "" && f.N > 0 }

type figureJSON struct {
	Mean   *float64 `json:"mean,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	N      *int     `json:"n,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

type knownJSON struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	N    int      `json:"n"`
}

// MarshalJSON writes {"mean","low","high","n"} or {"reason"}; a figure that is
// not finite becomes a reason, because JSON has no word for it.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known() {
		reason := f.Reason
		if reason == "" {
			reason = "no result"
		}
		return json.Marshal(struct {
			Reason string `json:"reason"`
		}{reason})
	}
	if math.IsNaN(f.Mean) || math.IsInf(f.Mean, 0) {
		return json.Marshal(figureJSON{Reason: "not a finite number"})
	}
	return json.Marshal(knownJSON{f.Mean, finite(f.Low), finite(f.High), f.N})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figure) UnmarshalJSON(text []byte) error {
	var raw figureJSON
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("in a figure: %w", misfitOf(text, err))
	}
	if raw.Reason != "" {
		*f = Missing(raw.Reason)
		return nil
	}
	if raw.Mean == nil || raw.N == nil {
		return errors.New("a figure has neither mean and n nor a reason")
	}
	*f = Figure{Mean: *raw.Mean, Low: raw.Low, High: raw.High, N: *raw.N}
	return nil
}

func finite(bound *float64) *float64 {
	if bound == nil || math.IsNaN(*bound) || math.IsInf(*bound, 0) {
		return nil
	}
	return bound
}
