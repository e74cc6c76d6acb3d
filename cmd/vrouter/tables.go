package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/control"
)

// A table is a command that shows one of the vRouter's tables.
type table struct {
	name, short, example string
	scoped               bool // it can be narrowed to a network or a port
	limited              bool // it can be long: --limit says how many are listed
	print                func(reply []byte, out io.Writer, scope control.Scope) error
}

var tables = []table{
	{name: "status", short: "Show what runs", print: printStatus},
	{name: "vif", short: "Show the ports and their counters", print: printVifs},
	{name: "nh", short: "Show the nexthops", print: rows("NH\tTYPE\tOUT\tTUNNEL\tAS\tMAC\tMTU\tRESOLVED\tMEMBERS", func(n control.Nexthop) string {
		wrap := n.Wrap
		if n.VNI != 0 {
			wrap += fmt.Sprintf(" %d", n.VNI)
		}
		var members []string
		for _, m := range n.Members {
			members = append(members, m.Text())
		}
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%t\t%s", n.Nexthop, n.Type, cmp.Or(n.Out, n.Network), n.Tunnel, wrap, n.MAC, n.MTU, n.Resolved, strings.Join(members, ", "))
	})},
	{name: "rt", short: "Show the routes", print: rows("NETWORK\tPREFIX\tNH\tLABEL\tSTATE", func(r control.Route) string {
		state := map[bool]string{true: "stale"}[r.Stale]
		return fmt.Sprintf("%s\t%s\t%d\t%d\t%s", r.Network, r.Prefix, r.Nexthop, r.Label, state)
	})},
	{name: "mpls", short: "Show the labels that deliver here", print: rows("LABEL\tNH\tPORT\tNETWORK\tAS", func(l control.Label) string {
		as := ""
		if l.Network != "" {
			as = delivery(l.Bridged)
		}
		return fmt.Sprintf("%d\t%d\t%s\t%s\t%s", l.Label, l.Nexthop, l.Port, l.Network, as)
	})},
	{name: "vxlan", short: "Show the VNIs that name a network here", print: rows("VNI\tNETWORK\tAS", func(v control.VNI) string {
		return fmt.Sprintf("%d\t%s\t%s", v.VNI, v.Network, delivery(v.Bridged))
	})},
	{name: "mac", short: "Show the MAC addresses of bridged networks", print: rows("NETWORK\tMAC\tNH\tLABEL\tVNI\tPORT\tTUNNEL", func(m control.MAC) string {
		return fmt.Sprintf("%s\t%s\t%s", m.Network, m.MAC, target(m.Target))
	})},
	{name: "flood", short: "Show who gets what is for all of a bridged network", print: rows("NETWORK\tNH\tLABEL\tVNI\tPORT\tTUNNEL", func(f control.Flood) string {
		return fmt.Sprintf("%s\t%s", f.Network, target(f.Target))
	})},
	{name: "drops", short: "Show what was lost, by reason", scoped: true, print: printDrops,
		example: "  vrouter drops\n  vrouter drops --network network1\n  vrouter drops --port sender --json"},
	{name: "stats", short: "Show the whole account of packets, by network and port", scoped: true, print: printStats,
		example: "  vrouter stats\n  vrouter stats --network network1"},
	{name: "rule", short: "Show the rules that devices were given, and what they took", limited: true, print: printRules,
		example: "  vrouter rule\n  vrouter rule --limit 10000 --json"},
	{name: "flow", short: "Show the flows of ports in flow mode, and how many there are", scoped: true, limited: true, print: printFlows,
		example: "  vrouter flow --port sender\n  vrouter flow --network network1 --limit 1000 --json"},
}

// delivery is what becomes of what comes into a network.
func delivery(bridged bool) string {
	if bridged {
		return "bridged"
	}
	return "routed"
}

func target(t control.Target) string {
	return fmt.Sprintf("%d\t%d\t%d\t%s\t%s", t.Nexthop, t.Label, t.VNI, t.Port, t.Tunnel)
}

// rows prints a list as a table, one row a record; empty rows are left out.
func rows[R any](head string, row func(R) string) func([]byte, io.Writer, control.Scope) error {
	return func(reply []byte, out io.Writer, _ control.Scope) error {
		var records []R
		if err := decode(reply, &records); err != nil {
			return err
		}
		return printRows(out, head, records, row)
	}
}

func printRows[R any](out io.Writer, head string, records []R, row func(R) string) error {
	return columns(out, func(line func(string)) {
		line(head)
		for _, r := range records {
			line(row(r))
		}
	})
}

// columns aligns lines at their tabs; empty lines are left out.
func columns(out io.Writer, write func(line func(string))) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	write(func(line string) {
		if line != "" {
			fmt.Fprintln(w, line)
		}
	})
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func newTable(t table) *cobra.Command {
	var socket string
	var scope control.Scope
	var limit int
	var asJSON bool
	c := &cobra.Command{
		Use: t.name, Short: t.short, Args: cobra.NoArgs, Example: t.example,
		RunE: func(c *cobra.Command, _ []string) error {
			reply, err := control.Ask(socket, control.Request{Get: t.name, Network: scope.Network, Port: scope.Port, Limit: limit})
			if err != nil {
				return err
			}
			return show(c.OutOrStdout(), reply, asJSON, func(out io.Writer) error { return t.print(reply, out, scope) })
		},
	}
	socketFlag(c, &socket, "the vRouter's Unix socket")
	if t.scoped {
		c.Flags().StringVar(&scope.Network, "network", "", "only this network's")
		c.Flags().StringVar(&scope.Port, "port", "", "only this port's")
	}
	if t.limited {
		c.Flags().IntVar(&limit, "limit", control.ListedFlows, fmt.Sprintf("how many to list, at most %d; all are counted", control.MaxListedFlows))
	}
	jsonFlag(c, &asJSON)
	return c
}

func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON, as the socket gives it")
}

// decode reads a reply.
func decode(reply []byte, into any) error {
	if err := json.Unmarshal(reply, into); err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	return nil
}

// show prints a reply as the socket gives it, or in words. It is one write, so that none can fail unseen.
func show(out io.Writer, reply []byte, asJSON bool, words func(io.Writer) error) error {
	text := bytes.NewBuffer(append(reply[:len(reply):len(reply)], '\n'))
	if !asJSON {
		text.Reset()
		if err := words(text); err != nil {
			return err
		}
	}
	if _, err := text.WriteTo(out); err != nil {
		return fmt.Errorf("printing the reply: %w", err)
	}
	return nil
}
