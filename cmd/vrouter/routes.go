package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

// newRouteAdd and newRouteDel are below the command that shows the routes.
func newRouteAdd() *cobra.Command {
	var socket, network string
	var way wayFlags
	c := &cobra.Command{
		Use: "add PREFIX [flags]", Short: "Give a prefix a route, new or instead of another one", Args: one("PREFIX"),
		Example: `  vrouter rt add 10.0.1.4/32 --network network1 --tunnel 10.0.0.2 --encapsulation mplsoudp --label 17
  vrouter rt add 10.0.2.0/24 --network network1 --to-network network2
  vrouter rt add 10.0.1.9/32 --network network1 --way port=web1 --way tunnel=10.0.0.2,encapsulation=mplsoudp,label=17`,
		RunE: func(_ *cobra.Command, args []string) error {
			via, err := way.via()
			if err != nil {
				return err
			}
			return changeRoute(socket, args[0], config.Change{Network: network, Via: &via})
		},
	}
	routeFlags(c, &socket, &network)
	c.Flags().StringVar(&way.tunnel, "tunnel", "", "the other node's fabric address")
	c.Flags().StringVar(&way.encapsulation, "encapsulation", "", "how packets are wrapped: mplsoudp, mplsogre, vxlan or none")
	c.Flags().Uint32Var(&way.label, "label", 0, "the label of the port or the network there, for MPLS")
	c.Flags().Uint32Var(&way.vni, "vni", 0, "for VXLAN, instead of the network's")
	c.Flags().StringVar(&way.mac, "mac", "", "the inner destination for VXLAN, instead of the gateway's")
	c.Flags().StringVar(&way.port, "port", "", "a port of this node, which has the prefix besides its own address")
	c.Flags().StringVar(&way.network, "to-network", "", "the network whose routes say where to")
	c.Flags().StringArrayVar(&way.several, "way", nil, "one of several ways, of which each flow has one: port=... or tunnel=...,encapsulation=...,label=...")
	c.MarkFlagsOneRequired("tunnel", "port", "to-network", "way")
	c.MarkFlagsMutuallyExclusive("tunnel", "port", "to-network", "way")
	c.MarkFlagsRequiredTogether("tunnel", "encapsulation")
	for _, of := range []string{"label", "vni", "mac"} { // each of several ways has its own
		c.MarkFlagsMutuallyExclusive("way", of)
	}
	return c
}

func newRouteDel() *cobra.Command {
	var socket, network string
	c := &cobra.Command{
		Use: "del PREFIX [flags]", Short: "Take a prefix's route away, if it has one", Args: one("PREFIX"),
		Example: "  vrouter rt del 10.0.1.4/32 --network network1",
		RunE: func(_ *cobra.Command, args []string) error {
			return changeRoute(socket, args[0], config.Change{Network: network, Remove: true})
		},
	}
	routeFlags(c, &socket, &network)
	return c
}

func newRouteSweep() *cobra.Command {
	var socket string
	var asJSON bool
	c := &cobra.Command{
		Use: "sweep [flags]", Short: "Take away the stale routes", Args: cobra.NoArgs,
		Long: `Take away the stale routes: those that were set by a client (vrouter rt add, or the socket) before
the vRouter was started anew, and have not been set since. It is for when all are set again.`,
		Example: "  vrouter rt sweep",
		RunE: func(c *cobra.Command, _ []string) error {
			reply, err := control.Ask(socket, control.Request{Sweep: true})
			if err != nil {
				return err
			}
			var swept control.Swept
			if err := decode(reply, &swept); err != nil {
				return err
			}
			return show(c.OutOrStdout(), reply, asJSON, func(out io.Writer) error {
				_, err := fmt.Fprintf(out, "%s taken away; %d are left\n", plural(swept.Removed, "stale route"), swept.Routes)
				return err
			})
		},
	}
	socketFlag(c, &socket, "the vRouter's Unix socket")
	jsonFlag(c, &asJSON)
	return c
}

func routeFlags(c *cobra.Command, socket, network *string) {
	socketFlag(c, socket, "the vRouter's Unix socket")
	c.Flags().StringVar(network, "network", "", "the network whose route it is")
	require(c, "network")
}

func changeRoute(socket, prefix string, change config.Change) (err error) {
	if change.Prefix, err = netip.ParsePrefix(prefix); err != nil {
		return control.Refuse(err)
	}
	text, err := json.Marshal([]config.Change{change})
	if err != nil {
		return fmt.Errorf("writing the change: %w", err)
	}
	_, err = control.Ask(socket, control.Request{Routes: text})
	return err
}
