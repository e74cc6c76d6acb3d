package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/control"
)

func newFlow() *cobra.Command {
	var socket string
	var scope control.Scope
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use: "flow", Short: "Show the flows of ports in flow mode, and how many there are", Args: cobra.NoArgs,
		Example: "  vrouter flow --port sender\n  vrouter flow --network network1 --limit 1000 --json",
		RunE: func(c *cobra.Command, _ []string) error {
			reply, err := control.Ask(socket, control.Request{Get: "flow", Network: scope.Network, Port: scope.Port, Limit: limit})
			if err != nil {
				return err
			}
			if asJSON {
				_, err = fmt.Fprintln(c.OutOrStdout(), string(reply))
				return err
			}
			return printFlows(reply, c.OutOrStdout())
		},
	}
	socketFlag(c, &socket, "the vRouter's Unix socket")
	c.Flags().StringVar(&scope.Network, "network", "", "only this network's")
	c.Flags().StringVar(&scope.Port, "port", "", "only this port's")
	c.Flags().IntVar(&limit, "limit", control.ListedFlows, fmt.Sprintf("how many to list, at most %d; all are counted", control.MaxListedFlows))
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the socket gives it")
	return c
}

func printFlows(reply []byte, out io.Writer) error {
	var all control.Flows
	if err := decode(reply, &all); err != nil {
		return err
	}
	if len(all.Flows) > 0 {
		err := columns(out, func(line func(string)) {
			line("PORT\tPROTOCOL\tLOCAL\tREMOTE\tOPENED\tSTATE\tIDLE\tOUT\tIN")
			for _, f := range all.Flows {
				line(fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%ds\t%d\t%d", f.Port, f.Protocol, f.Local, f.Remote, f.Opened, f.State, f.IdleSeconds, f.OutPackets, f.InPackets))
			}
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
			line(fmt.Sprintf("%s\t%d\t%s", n.Network, n.Flows, quota))
		}
	})
}
