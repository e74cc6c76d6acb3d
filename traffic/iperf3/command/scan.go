package command

import (
	"fmt"
	"strings"

	"windtunnel/result"
)

// given is a flag as it stood on the command line.
type given struct {
	flag  *flag
	as    string // how it was written: -b, --bitrate
	value string
	bare  bool // without the value that it may have
}

// scan reads arguments as getopt_long(3) does: short flags may be joined and may
// have their value joined (-uR, -b2G), long ones may be shortened as far as they
// stay unique, and take their value after = or as the next argument. What is
// neither is returned in rest.
func scan(args []string, flags []*flag) (all []given, rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var found []given
		switch {
		case arg == "--":
			return all, append(rest, args...), nil
		case strings.HasPrefix(arg, "--"):
			found, args, err = scanLong(arg, args, flags)
		case len(arg) > 1 && arg[0] == '-':
			found, args, err = scanShort(arg, args, flags)
		default:
			rest = append(rest, arg)
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, found...)
	}
	return all, rest, nil
}

func scanLong(arg string, args []string, flags []*flag) ([]given, []string, error) {
	name, value, joined := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	f, full, err := findLong(name, flags)
	if err != nil {
		return nil, nil, err
	}
	g := given{flag: f, as: "--" + full, value: value}
	switch {
	case f.takes == "" && joined:
		return nil, nil, fmt.Errorf("option '--%s' takes no value, and '%s' was given", full, value)
	case f.takes == "" || joined:
		return []given{g}, args, nil
	case f.optional:
		g.bare = true
		return []given{g}, args, nil
	case len(args) == 0:
		return nil, nil, fmt.Errorf("option '--%s' needs a value: --%s %s", full, full, f.takes)
	}
	g.value = args[0]
	return []given{g}, args[1:], nil
}

// findLong finds a long flag by its name or by a beginning that only it has.
func findLong(name string, flags []*flag) (f *flag, full string, err error) {
	var names []string
	begun := map[*flag]string{}
	for _, candidate := range flags {
		for _, long := range candidate.longs() {
			if long == name {
				return candidate, long, nil
			}
			names = append(names, long)
			if _, again := begun[candidate]; !again && name != "" && strings.HasPrefix(long, name) {
				begun[candidate] = long
			}
		}
	}
	if len(begun) == 1 {
		for f, full = range begun {
			return f, full, nil
		}
	}
	if len(begun) > 1 {
		return nil, "", fmt.Errorf("option '--%s' is ambiguous: %s", name, strings.Join(beginnings(name, names), ", "))
	}
	text := fmt.Sprintf("unrecognized option '--%s'", result.Clip(name))
	if near, ok := result.Nearest(name, names); ok {
		text += fmt.Sprintf(": did you mean --%s?", near)
	}
	return nil, "", fmt.Errorf("%s", text)
}

func beginnings(name string, names []string) (found []string) {
	for _, candidate := range names {
		if strings.HasPrefix(candidate, name) {
			found = append(found, "--"+candidate)
		}
	}
	return found
}

func scanShort(arg string, args []string, flags []*flag) (all []given, rest []string, err error) {
	for at := 1; at < len(arg); at++ {
		f := findShort(arg[at], flags)
		if f == nil {
			return nil, nil, unknownShort(arg, at, flags)
		}
		g := given{flag: f, as: "-" + string(arg[at])}
		if f.takes == "" || f.optional { // an optional value is for the long form only
			g.bare = true
			all = append(all, g)
			continue
		}
		if at+1 < len(arg) {
			g.value = arg[at+1:]
			g.as += g.value
			return append(all, g), args, nil
		}
		if len(args) == 0 {
			return nil, nil, fmt.Errorf("option -%c needs a value: -%c %s", arg[at], arg[at], f.takes)
		}
		g.value = args[0]
		return append(all, g), args[1:], nil
	}
	return all, args, nil
}

func findShort(name byte, flags []*flag) *flag {
	for _, f := range flags {
		if f.short != 0 && f.short == name {
			return f
		}
	}
	return nil
}

func unknownShort(arg string, at int, flags []*flag) error {
	text := fmt.Sprintf("unrecognized option '-%s'", result.Clip(string([]rune(arg[at:])[:1])))
	if len(arg) > 2 {
		text += fmt.Sprintf(" in '%s'", result.Clip(arg))
	}
	return fmt.Errorf("%s%s", text, meantLong(arg, flags))
}

// meantLong suggests the long flag that somebody wrote with a single hyphen.
func meantLong(arg string, flags []*flag) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
	const enough = 3 // shorter ones are joined short flags
	if strings.HasPrefix(name, "-") || len(name) < enough {
		return ""
	}
	var names []string
	for _, f := range flags {
		names = append(names, f.longs()...)
	}
	if near, ok := result.Nearest(name, names); ok {
		return fmt.Sprintf(": did you mean --%s?", near)
	}
	return ""
}
