package main

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

// newRouteAdd and newRouteDel are below the command that shows the routes.
func newRouteAdd() *cobra.Command {
	var socket, network, tunnel, encapsulation, mac string
	var via config.Via
	c := &cobra.Command{
		Use: "add PREFIX [flags]", Short: "Give a prefix a route, new or instead of another one", Args: cobra.ExactArgs(1),
		Example: "  vrouter rt add 10.0.1.4/32 --network network1 --tunnel 10.0.0.2 --encapsulation mplsoudp --label 17",
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if via.Tunnel, err = netip.ParseAddr(tunnel); err != nil {
				return control.Refuse(fmt.Errorf("--tunnel: %w", err))
			}
			if mac != "" {
				if via.MAC, err = config.ParseMAC(mac); err != nil {
					return control.Refuse(fmt.Errorf("--mac: %w", err))
				}
			}
			via.Encapsulation = config.Encapsulation(encapsulation)
			return changeRoute(socket, args[0], config.Change{Network: network, Via: &via})
		},
	}
	routeFlags(c, &socket, &network)
	c.Flags().StringVar(&tunnel, "tunnel", "", "the other node's fabric address")
	c.Flags().StringVar(&encapsulation, "encapsulation", "", "how packets are wrapped: mplsoudp, mplsogre, vxlan or none")
	c.Flags().Uint32Var(&via.Label, "label", 0, "the label of the port there, for MPLS")
	c.Flags().Uint32Var(&via.VNI, "vni", 0, "for VXLAN, instead of the network's")
	c.Flags().StringVar(&mac, "mac", "", "the inner destination for VXLAN, instead of the gateway's")
	require(c, "tunnel", "encapsulation")
	return c
}

func newRouteDel() *cobra.Command {
	var socket, network string
	c := &cobra.Command{
		Use: "del PREFIX [flags]", Short: "Take a prefix's route away, if it has one", Args: cobra.ExactArgs(1),
		Example: "  vrouter rt del 10.0.1.4/32 --network network1",
		RunE: func(_ *cobra.Command, args []string) error {
			return changeRoute(socket, args[0], config.Change{Network: network, Remove: true})
		},
	}
	routeFlags(c, &socket, &network)
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
