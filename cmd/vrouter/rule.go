package main

import (
	"fmt"
	"io"

	"windtunnel/vrouter/control"
)

// printRules shows rules, and how many there are besides.
func printRules(reply []byte, out io.Writer, _ control.Scope) error {
	var rules control.Rules
	if err := decode(reply, &rules); err != nil {
		return err
	}
	err := printRows(out, "STATE\tPACKETS\tBYTES\tRULE", rules.Rules, func(r control.Rule) string {
		state := map[bool]string{true: "device", false: "refused"}[r.Taken]
		text := fmt.Sprintf("%s\t%d\t%d\t%s", state, r.Packets, r.Bytes, r.Rule)
		if r.Why != "" {
			text += ": " + r.Why
		}
		return text
	})
	if more := rules.All - len(rules.Rules); err == nil && more > 0 {
		_, err = fmt.Fprintf(out, "... and %d more; --limit lists more\n", more)
	}
	return err
}
