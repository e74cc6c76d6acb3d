package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/oneoff"
	"windtunnel/result"
)

// loadFlags are the options of a kind of load, as flags: a new kind's, and a
// kind's new ones, appear by themselves.
type loadFlags struct{ given result.Options }

// add makes a flag of every option.
func (l *loadFlags) add(c *cobra.Command, options []result.Option) {
	l.given = result.Options{}
	for _, o := range options {
		value := &optionValue{option: o, given: l.given}
		flag := c.Flags().VarPF(value, o.Name, "", optionHelp(o))
		if o.Type == result.Switch {
			flag.NoOptDefVal = "true" // --nodelay alone
		}
	}
}

// optionHelp is an option's line, with its words and its default.
func optionHelp(o result.Option) string {
	text := o.Says
	if len(o.Words) > 0 {
		text += " (" + strings.Join(o.Words, ", ") + ")"
	}
	return text
}

// optionValue is the value of one flag; it satisfies pflag.Value.
type optionValue struct {
	option result.Option
	given  result.Options
}

// Set reads it as a suite would.
func (v *optionValue) Set(text string) error {
	value, err := v.option.Parse(text)
	if err != nil {
		return err
	}
	v.given[v.option.Name] = value
	return nil
}

// Type is what help shows after the flag.
func (v *optionValue) Type() string { return string(v.option.Type) }

// String is the value now: the given one, else the default.
func (v *optionValue) String() string {
	value := v.option.Default
	if v.given != nil && v.given[v.option.Name] != nil {
		value = v.given[v.option.Name]
	}
	if value == nil {
		return ""
	}
	return result.FormatValue(v.option.Type, value)
}

// kindValue is the value of --kind, of which there may be only one: the options that there are depend on it. It satisfies pflag.Value.
type kindValue struct {
	kind  *string
	given bool
}

// Set refuses a second kind.
func (v *kindValue) Set(kind string) error {
	if v.given && kind != *v.kind {
		return fmt.Errorf("`%s` and `%s` are two kinds, and a measurement has one", result.Clean(result.Clip(*v.kind)), result.Clean(result.Clip(kind)))
	}
	*v.kind, v.given = kind, true
	return nil
}

// Type is what help shows after the flag.
func (v *kindValue) Type() string { return "string" }

// String is the kind now.
func (v *kindValue) String() string {
	if v.kind == nil { // of the zero value, as pflag asks
		return ""
	}
	return *v.kind
}

// addKind makes the flag --kind.
func addKind(c *cobra.Command, kind *string, fallback string, kinds []string) {
	*kind = fallback
	c.Flags().Var(&kindValue{kind: kind}, "kind", "what traffic: "+strings.Join(kinds, ", "))
}

// kindAsked finds --kind among arguments that are yet to be parsed: which flags
// there are depends on it. Of several it is none that there is.
func kindAsked(args []string, fallback string) string {
	var kinds []string
	for i, arg := range args {
		if arg == "--" {
			break
		}
		kind, found := strings.CutPrefix(arg, "--kind=")
		if arg == "--kind" && i+1 < len(args) {
			kind, found = args[i+1], true
		}
		if found && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return fallback
	}
	return strings.Join(kinds, " and ")
}

// kindOptions are a kind's options, none of a kind that there is not.
func kindOptions(name string) []result.Option {
	kind, err := oneoff.KindByName(name)
	if err != nil {
		return nil
	}
	return kind.Options()
}
