package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/result"
	"windtunnel/suites"
)

// takes wants an argument of each name, and says which.
func takes(names ...string) cobra.PositionalArgs {
	many := []string{"no argument", "one argument, ", "two arguments, "}[len(names)]
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return nil
		case len(names) == 0:
			return fmt.Errorf("%s takes no argument, and %q is one; `%s --help` lists its flags", c.CommandPath(), result.Clip(args[0]), c.CommandPath())
		}
		return fmt.Errorf("%s takes %s%s, not %d; %s`%s --help` has examples", c.CommandPath(), many, strings.Join(names, " "), len(args), strayValue(args), c.CommandPath())
	}
}

// strayValue says how a switch gets its value, where one stands among the arguments: a switch takes none from behind a space.
func strayValue(args []string) string {
	for _, arg := range args {
		if _, err := strconv.ParseBool(arg); err == nil && len(arg) > 1 { // 1 and 0 may be hosts (inet_aton)
			return fmt.Sprintf("a switch takes its value behind a =, as in --nodelay=%s; ", arg)
		}
	}
	return ""
}

// unknownCommand says in place of the library's words what was meant, and what there is. Other errors stay.
func unknownCommand(root *cobra.Command, err error) error {
	quoted, unknown := strings.CutPrefix(err.Error(), "unknown command ")
	if !unknown {
		return err
	}
	quoted, _ = strconv.QuotedPrefix(quoted)
	word, _ := strconv.Unquote(quoted)
	if slices.Contains(suites.List(), word) {
		return fmt.Errorf("%s is a suite and no command: `windtunnel run %s` measures it, `windtunnel plan %s` draws it", word, word, word)
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return errors.New(result.UnknownWord("command", result.Clean(word), names) + "; `windtunnel --help` says what each does")
}

// flagError says which flag was meant beside one that there is not, and what a flag's value should be.
func flagError(c *cobra.Command, err error) error {
	help := fmt.Sprintf("; see `%s --help`", c.CommandPath())
	var invalid interface{ GetValue() string } // pflag's, whose type is not ours to name
	if errors.As(err, &invalid) {
		return refused(errors.New(invalidValue(c, invalid.GetValue(), err) + help))
	}
	flag, name, unknown := unknownFlag(err)
	if !unknown {
		return refused(fmt.Errorf("%w%s", err, help))
	}
	near, ok := meant(name, flagNames(c))
	if !ok {
		return refused(fmt.Errorf("unknown flag %s%s", flag, help))
	}
	return refused(fmt.Errorf("unknown flag %s; did you mean --%s?", flag, near))
}

// unknownFlag takes the flag that there is not out of the library's words, as it was written, and its name.
func unknownFlag(err error) (flag, name string, unknown bool) {
	if name, unknown = strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		name = result.Clip(name)
		return "--" + name, name, true
	}
	quoted, unknown := strings.CutPrefix(err.Error(), "unknown shorthand flag: ")
	if quoted, _ = strconv.QuotedPrefix(quoted); !unknown || quoted == "" {
		return "", "", false
	}
	letter, _ := strconv.Unquote(quoted)
	return "-" + letter, letter, true
}

// flagNames asks cobra's usage for its flags: their type is not ours to name.
func flagNames(c *cobra.Command) []string {
	var names []string
	for line := range strings.SplitSeq(c.LocalFlags().FlagUsages(), "\n") {
		if _, flag, found := strings.Cut(line, "--"); found {
			name, _, _ := strings.Cut(flag, " ")
			names = append(names, name)
		}
	}
	return names
}

// expected is how the values are written that flags of the library's own types take.
var expected = map[string]string{
	"duration": "no length of time: write 90s, 3m or 1h30m",
	"uint64":   "no whole number from 0 on",
	"int":      "no whole number",
	"float64":  "no number",
	"bool":     "neither true nor false",
}

// isOption tells of the value of a load's option, whose own words say what is wrong with it: a duration of those has other units and bounds.
func isOption(value any) bool {
	_, is := value.(*optionValue)
	return is
}

// invalidValue names the flag and what it takes.
func invalidValue(c *cobra.Command, value string, err error) string {
	_, name, _ := strings.Cut(err.Error(), "--")
	name, _, _ = strings.Cut(name, `"`)
	flag := c.Flags().Lookup(name)
	if flag != nil && expected[flag.Value.Type()] != "" && !isOption(flag.Value) {
		return fmt.Sprintf("--%s %q is %s", name, result.Clip(value), expected[flag.Value.Type()])
	}
	if cause := errors.Unwrap(err); cause != nil {
		return fmt.Sprintf("--%s: %v", name, cause)
	}
	return err.Error()
}
