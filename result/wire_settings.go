package result

import (
	"fmt"
	"strconv"
	"strings"
)

// WireSettings is what a cell asks of its wire, beside its queues.
type WireSettings struct {
	BitsPerSecond float64 `json:"bits_per_second,omitempty"` // of a token bucket at each end; 0: none
	Loss          float64 `json:"loss,omitempty"`            // the share of what arrives at each end that a rule drops
	GRO           string  `json:"gro,omitempty"`             // on or off: whether receivers join packets; "": as its kind has it
	Steer         string  `json:"steer,omitempty"`           // sender: received on the sending node's CPUs; "": on the receiving node's
}

// Words is how a report names them, "" for nil.
func (s *WireSettings) Words() string {
	if s == nil {
		return ""
	}
	var words []string
	if s.BitsPerSecond > 0 {
		words = append(words, fmt.Sprintf("a token bucket of %.4g Mbit/s at each end", s.BitsPerSecond/1e6))
	}
	if s.Loss > 0 {
		words = append(words, "a rule that drops "+strconv.FormatFloat(100*s.Loss, 'g', 4, 64)+" % of what arrives")
	}
	if s.GRO != "" {
		words = append(words, "GRO "+s.GRO)
	}
	if s.Steer != "" {
		words = append(words, "received on the "+s.Steer+"'s CPUs")
	}
	return strings.Join(words, ", ")
}
