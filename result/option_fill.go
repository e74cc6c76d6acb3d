package result

import (
	"errors"
	"fmt"
	"math"
)

// longestValue bounds a Word in bytes: what is filled may come from a stranger.
const longestValue = 256

// Fill returns the options with their defaults for what is absent, each value in its Go
// type and within its option's bounds. A value that is none of those, and a name that is
// no option's, is an error, and so is one of an option that is idle beside the others. An empty word is an absent one.
func Fill(options []Option, given Options) (Options, error) {
	full := Options{}
	var names []string
	for _, o := range options {
		names = append(names, o.Name)
		value := given[o.Name]
		absent, idle := value == nil || value == "", o.Idle(given)
		if absent && !idle {
			value = o.Default
		}
		if value == nil || value == "" {
			continue
		}
		kept, err := o.keep(value)
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", o.Name, err)
		}
		if idle {
			return nil, o.refuseIdle(FormatValue(o.Type, kept))
		}
		full[o.Name] = kept
	}
	for name, value := range given {
		if _, known := full[name]; !known && value != nil && value != "" {
			return nil, errors.New(UnknownWord("option", name, names))
		}
	}
	return full, nil
}

// keep returns a value in its option's Go type, within its bounds.
func (o Option) keep(value any) (any, error) {
	switch v := value.(type) {
	case bool:
		if o.Type == Switch {
			return v, nil
		}
	case string:
		if o.Type == Word || o.stands(v) {
			return o.keepWord(v)
		}
	case int, int64, float64:
		if o.Type != Switch && o.Type != Word {
			return o.keepNumber(Options{"": v}.Float(""))
		}
	}
	return nil, fmt.Errorf("its value is a %T, not a %s", value, o.Type)
}

func (o Option) keepWord(word string) (any, error) {
	if len(word) > longestValue {
		return nil, fmt.Errorf("%d bytes are too long for a word", len(word))
	}
	return o.Parse(word)
}

// written is a number with its unit, and without one where its type does not hold it.
func (o Option) written(v float64) string {
	const most = 1 << 53 // of whole bytes, and, at a billion to the second, of a time.Duration
	if math.Abs(v) > most || o.Type == Duration && math.Abs(v) > most/1e9 {
		return fmt.Sprintf("%g", v)
	}
	return FormatValue(o.Type, v)
}

func (o Option) keepNumber(v float64) (any, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("%g is no number", v)
	}
	if err := o.within(v, o.written(v)); err != nil {
		return nil, err
	}
	if o.Type != Count && o.Type != Size {
		return v, nil
	}
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return nil, fmt.Errorf("%g is not a whole number", v)
	}
	return int64(v), nil
}
