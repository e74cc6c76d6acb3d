package result

import (
	"fmt"
	"slices"
)

// Parse reads a value as a suite or a flag writes it, within the option's bounds:
// int64, float64, bool or string.
func (o Option) Parse(text string) (any, error) {
	if o.stands(text) {
		return text, nil
	}
	v, err := o.parse(text)
	if err != nil && o.Type != Word && len(o.Words) > 0 {
		return nil, fmt.Errorf("%w (or write %s)", err, Listed(o.Words))
	}
	return v, err
}

// stands reports whether a text is a word that stands for a value of another type.
func (o Option) stands(text string) bool { return o.Type != Word && slices.Contains(o.Words, text) }

func (o Option) parse(text string) (any, error) {
	switch o.Type {
	case Count:
		return bounded(o, text, ParseCount)
	case Size:
		return bounded(o, text, ParseSize)
	case BitRate:
		return bounded(o, text, ParseBitRate)
	case PacketRate:
		return bounded(o, text, ParsePacketRate)
	case Duration:
		return bounded(o, text, ParseSeconds)
	case Switch:
		return ParseSwitch(text)
	case Word:
		return parseWord(o, text)
	}
	return nil, fmt.Errorf("has the type %q, which nobody can write", o.Type)
}

func bounded[N int64 | float64](o Option, text string, parse func(string) (N, error)) (any, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	return v, o.within(float64(v), Clip(text))
}

// within refuses a number beyond the option's bounds, named as it was written.
func (o Option) within(v float64, written string) error {
	switch {
	case v < o.Min:
		return fmt.Errorf("`%s` is too small; at least %s", written, FormatValue(o.Type, o.Min))
	case o.Max != 0 && v > o.Max:
		return fmt.Errorf("`%s` is too large; at most %s", written, FormatValue(o.Type, o.Max))
	}
	return nil
}

var switchWords = []string{"true", "false", "on", "off"}

// ParseSwitch reads true, false, on or off.
func ParseSwitch(text string) (bool, error) {
	switch text {
	case "true", "on":
		return true, nil
	case "false", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s", UnknownWord("setting", text, switchWords))
}

func parseWord(o Option, text string) (any, error) {
	if len(o.Words) == 0 {
		return text, nil
	}
	for _, w := range o.Words {
		if w == text {
			return text, nil
		}
	}
	return nil, fmt.Errorf("%s", UnknownWord("word", text, o.Words))
}
