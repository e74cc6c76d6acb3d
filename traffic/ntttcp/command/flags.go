package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// arity says what follows a flag.
type arity int

const (
	alone  arity = iota
	value        // one value
	option       // a value, unless what follows begins with a dash
	list         // values up to the next dash
)

// flag is one flag of one tool.
type flag struct {
	name  string // with its dash
	takes arity
	means string // one line: its meaning in this tool
	set   func(text string) error
}

// word is what a command line makes of a flag: it and its values.
type word struct {
	flag   flag
	values []string
}

// number reads a whole number from least on, strictly: what the tools' atoi would
// take half of is an error.
func number(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if n > maxNumber { // also of one that no int holds, of which n is the largest
		return 0, fmt.Errorf("%s is more than %d, the most that is taken", text, maxNumber)
	}
	if err != nil || n < least {
		return 0, fmt.Errorf("%q is no whole number from %d on", text, least)
	}
	return n, nil
}

// maxNumber keeps sums of numbers from a command line within an int.
const maxNumber = 1 << 30

// count is number for a field.
func count(into *int, least int) func(string) error {
	return func(text string) (err error) {
		*into, err = number(text, least)
		return err
	}
}

func raise(into *bool) func(string) error {
	return func(string) error { *into = true; return nil }
}

func keep(into *string) func(string) error {
	return func(text string) error { *into = text; return nil }
}

// memory reads NTttcp for Windows' sizes and counts: k and m are 2^10 and 2^20
// (ConvertMemoryUnit in ntttcp.c).
func memory(text string, least int) (int, error) {
	digits, unit := text, 1
	if n := len(text); n > 0 {
		if i := strings.IndexByte("kKmM", text[n-1]); i >= 0 {
			digits, unit = text[:n-1], []int{1 << 10, 1 << 10, 1 << 20, 1 << 20}[i]
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxMemory/unit || n*unit < least {
		return 0, fmt.Errorf("%q is no size from %d on (64000, 128k, 2M; at most %dM)", text, least, maxMemory>>20)
	}
	return n * unit, nil
}

const maxMemory = 1 << 36

func size(into *int, least int) func(string) error {
	return func(text string) (err error) {
		*into, err = memory(text, least)
		return err
	}
}

// buffer is size for a socket's buffer, which is an int of C (setsockopt(2)).
func buffer(into *int) func(string) error {
	return func(text string) error {
		if err := size(into, -maxMemory)(text); err != nil || *into <= math.MaxInt32 {
			return err
		}
		return fmt.Errorf("%s is more than %d bytes, the most that a socket's buffer can be asked for", text, math.MaxInt32)
	}
}

// scaled reads ntttcp-for-linux's numbers with a unit, of 1024 for buffers and
// 1000 for rates (unit_atod in util.c).
func scaled(text string, unit float64) (float64, error) {
	digits, factor := text, 1.0
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'g', 'G':
			digits, factor = text[:n-1], unit*unit*unit
		case 'm', 'M':
			digits, factor = text[:n-1], unit*unit
		case 'k', 'K':
			digits, factor = text[:n-1], unit
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if n*factor > maxRate {
		return 0, fmt.Errorf("%s is more than 1000 T, the most that is taken", text)
	}
	if err != nil || !(n > 0) {
		return 0, fmt.Errorf("%q is no positive number with an optional K, M or G", text)
	}
	return n * factor, nil
}

const maxRate = 1e15

// describe lists flags for the help.
func describe(flags []flag) string {
	var b strings.Builder
	for _, f := range flags {
		if f.means != "" {
			fmt.Fprintf(&b, "  %-26s %s\n", f.name+f.takes.shown(), f.means)
		}
	}
	return b.String()
}

func (a arity) shown() string {
	return []string{"", " VALUE", " [VALUE]", " VALUE..."}[a]
}

// find looks a flag up by its name.
func find(flags []flag, name string) (flag, bool) {
	i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name })
	if i < 0 {
		return flag{}, false
	}
	return flags[i], true
}

// apply sets one flag and says at which flag it failed.
func (w word) apply() error {
	values := w.values
	if len(values) == 0 {
		values = []string{""}
	}
	for _, v := range values {
		if err := w.flag.set(v); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSpace(w.flag.name+" "+v), err)
		}
	}
	return nil
}
