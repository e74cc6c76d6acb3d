package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"windtunnel/vrouter/control"
)

func printFlows(reply []byte, out io.Writer, _ control.Scope) error {
	var all control.Flows
	if err := decode(reply, &all); err != nil {
		return err
	}
	if len(all.Flows) > 0 {
		err := printRows(out, "PORT\tPROTOCOL\tLOCAL\tREMOTE\tOPENED\tSTATE\tIDLE\tOUT\tIN", all.Flows, func(f control.Flow) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%ds\t%d\t%d", f.Port, f.Protocol, f.Local, f.Remote, f.Opened, f.State, f.IdleSeconds, f.OutPackets, f.InPackets)
		})
		if err != nil {
			return err
		}
	}
	if more := all.Matched - len(all.Flows); more > 0 {
		fmt.Fprintf(out, "... and %d more; --limit lists more\n", more)
	}
	var states []string
	for _, state := range slices.Sorted(maps.Keys(all.States)) {
		states = append(states, fmt.Sprintf("%d %s", all.States[state], state))
	}
	text := fmt.Sprintf("%d flows", all.Matched)
	if len(states) > 0 {
		text += ": " + strings.Join(states, ", ")
	}
	fmt.Fprintf(out, "%s; room for %d\n", text, all.Table)
	return columns(out, func(line func(string)) {
		for _, n := range all.Networks {
			quota := "no quota"
			if n.Quota != 0 {
				quota = fmt.Sprintf("quota %d", n.Quota)
			}
			if n.Share {
				quota += ", so that there is room for others"
			}
			line(fmt.Sprintf("%s\t%d\t%s", n.Network, n.Flows, quota))
		}
	})
}
