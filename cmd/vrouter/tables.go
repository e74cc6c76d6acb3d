package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/control"
)

// A table is a command that shows one of the vRouter's tables.
type table struct {
	name, short string
	print       func(reply []byte, out io.Writer) error
}

var tables = []table{
	{"status", "Show what runs", printJSON},
	{"vif", "Show the ports and their counters", rows("VIF\tNAME\tINTERFACE\tNETWORK\tADDRESS\tMAC\tMTU\tLABEL\tDELIVERY\tRX\tTX", func(v control.Vif) string {
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d", v.Vif, v.Name, v.Interface, v.Network, v.Address, v.MAC, v.MTU, v.Label, v.Delivery, v.Rx.Packets, v.Tx.Packets)
	})},
	{"nh", "Show the nexthops", rows("NH\tTYPE\tOUT\tTUNNEL\tMAC\tMTU\tRESOLVED", func(n control.Nexthop) string {
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%d\t%t", n.Nexthop, n.Type, n.Out, n.Tunnel, n.MAC, n.MTU, n.Resolved)
	})},
	{"rt", "Show the routes", rows("NETWORK\tPREFIX\tNH\tLABEL", func(r control.Route) string {
		return fmt.Sprintf("%s\t%s\t%d\t%d", r.Network, r.Prefix, r.Nexthop, r.Label)
	})},
	{"mpls", "Show the labels that deliver here", rows("LABEL\tNH\tPORT", func(l control.Label) string {
		return fmt.Sprintf("%d\t%d\t%s", l.Label, l.Nexthop, l.Port)
	})},
	{"drops", "Show what was lost, by reason", rows("REASON\tPACKETS\tSEGMENTS\tBYTES\tMEANS", func(d control.Drop) string {
		if d.Packets == 0 {
			return ""
		}
		return fmt.Sprintf("%s\t%d\t%d\t%d\t%s", d.Reason, d.Packets, d.Segments, d.Bytes, d.Says)
	})},
	{"stats", "Show the whole account of packets", printJSON},
}

// rows prints a list as a table, one row a record; empty rows are left out.
func rows[R any](head string, row func(R) string) func([]byte, io.Writer) error {
	return func(reply []byte, out io.Writer) error {
		var records []R
		if err := json.Unmarshal(reply, &records); err != nil {
			return fmt.Errorf("reading the table: %w", err)
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, head)
		for _, r := range records {
			if line := row(r); line != "" {
				fmt.Fprintln(w, line)
			}
		}
		return w.Flush()
	}
}

func printJSON(reply []byte, out io.Writer) error {
	var b bytes.Buffer
	if err := json.Indent(&b, reply, "", "  "); err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	_, err := fmt.Fprintln(out, b.String())
	return err
}

func newTable(t table) *cobra.Command {
	var socket string
	var asJSON bool
	c := &cobra.Command{
		Use: t.name + " --socket S", Short: t.short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			reply, err := control.Ask(socket, control.Request{Get: t.name})
			if err != nil {
				return err
			}
			if asJSON {
				_, err = fmt.Fprintln(c.OutOrStdout(), string(reply))
				return err
			}
			return t.print(reply, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&socket, "socket", "", "the vRouter's Unix socket")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the socket gives it")
	require(c, "socket")
	return c
}

func newApply() *cobra.Command {
	var socket string
	c := &cobra.Command{
		Use: "apply --socket S F", Short: "Give a running vRouter another configuration, while packets flow", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			wanted, err := readConfig(args[0], c.InOrStdin())
			if err != nil {
				return err
			}
			text, err := json.Marshal(wanted)
			if err != nil {
				return fmt.Errorf("writing the configuration: %w", err)
			}
			_, err = control.Ask(socket, control.Request{Apply: text})
			return err
		},
	}
	c.Flags().StringVar(&socket, "socket", "", "the vRouter's Unix socket")
	require(c, "socket")
	return c
}
