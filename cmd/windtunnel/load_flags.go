package main

import (
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

// kindAsked finds --kind among arguments that are yet to be parsed: which flags
// there are depends on it.
func kindAsked(args []string, fallback string) string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if kind, ok := strings.CutPrefix(arg, "--kind="); ok {
			return kind
		}
		if arg == "--kind" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return fallback
}

// kindOptions are a kind's options, none of a kind that there is not.
func kindOptions(name string) []result.Option {
	kind, err := oneoff.KindByName(name)
	if err != nil {
		return nil
	}
	return kind.Options()
}
