package result

import (
	"fmt"
	"slices"
	"strings"
)

// OptionType says how the value of an Option is written in a suite, and in
// which unit it is kept.
type OptionType string

// The types of options, with the Go type that Options holds for each.
const (
	Count      OptionType = "count"    // int64
	Size       OptionType = "size"     // int64, bytes: 1390B, 128KiB
	BitRate    OptionType = "rate"     // float64, bits per second: 2Gbit/s
	PacketRate OptionType = "packets"  // float64, packets per second: 10k/s, 1.2Mpps
	Duration   OptionType = "duration" // float64, seconds: 500ms
	Switch     OptionType = "switch"   // bool: true, false, on, off
	Word       OptionType = "word"     // string, one of Option.Words when there are any
)

// Option is one key that a kind of traffic or a path takes in a suite. Kinds
// and paths hand their options in, so that scenario stays pure and can still
// name the nearest valid word.
type Option struct {
	Name    string
	Type    OptionType
	Words   []string // the valid values of a Word, empty: any; of another type, words that may stand for a value
	Min     float64  // of the kept value; ignored for Switch and words
	Max     float64  // likewise; 0: no bound
	Default any      // the kept value when the suite names none; nil: absent
	// Beside are the options of which one must be set, and not to 0, for this one to have an effect: without them it is
	// absent, whatever its Default, and refused where it is given. Empty: it needs none.
	Beside []string
	Says   string // one line for help and docs
}

// Idle tells whether an option has no effect beside others.
func (o Option) Idle(beside Options) bool {
	return len(o.Beside) > 0 && !slices.ContainsFunc(o.Beside, func(name string) bool {
		return beside.Float(name) > 0 || beside.Text(name) != "" || beside.Bool(name)
	})
}

// refuseIdle is the reason for which a value of an option without effect is none.
func (o Option) refuseIdle(value any) error {
	return fmt.Errorf("`%s: %v` has no effect without %s: set %s, or leave %s out", o.Name, value, strings.Join(o.Beside, " or "), strings.Join(o.Beside, " or "), o.Name)
}

// Options holds normalised values by option name: int64, float64, bool or string.
// After a trip through JSON every number is a float64; the accessors take both.
type Options map[string]any

// Int returns a Count or Size, 0 when absent.
func (o Options) Int(name string) int64 {
	switch v := o[name].(type) {
	case int64:
		return v
	case int:
		return int64(v)
	case float64:
		return int64(v)
	}
	return 0
}

// Float returns a BitRate or Duration, 0 when absent.
func (o Options) Float(name string) float64 {
	switch v := o[name].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return 0
}

// Bool returns a Switch, false when absent.
func (o Options) Bool(name string) bool { v, _ := o[name].(bool); return v }

// Text returns a Word, "" when absent.
func (o Options) Text(name string) string { v, _ := o[name].(string); return v }
