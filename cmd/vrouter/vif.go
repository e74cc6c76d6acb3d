package main

import (
	"fmt"
	"io"
	"strings"

	"windtunnel/vrouter/control"
)

const vifHead = "VIF\tNAME\tINTERFACE\tNETWORK\tADDRESS\tMAC\tMTU\tLABEL\tDELIVERY\tFAST\tRX\tTX"

func vifRow(v control.Vif) string {
	return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%d\t%d", v.Vif, v.Name, v.Interface, v.Network, addressesOf(v), v.MAC, v.MTU, v.Label, v.Delivery, v.Fast.Way, v.Rx.Packets, v.Tx.Packets)
}

// addressesOf are the port's, of one or both families, with no blank: so a column stays one word.
func addressesOf(v control.Vif) string {
	if v.Address6 == "" {
		return v.Address
	}
	return v.Address + "," + v.Address6
}

// printVifs prints the ports, and below them why some are not fast: a line a reason.
func printVifs(reply []byte, out io.Writer, _ control.Scope) error {
	var vifs []control.Vif
	if err := decode(reply, &vifs); err != nil {
		return err
	}
	if err := printRows(out, vifHead, vifs, vifRow); err != nil {
		return err
	}
	var reasons []string
	ports := make(map[string][]string)
	for _, v := range vifs {
		if v.Fast.Way == control.FastBoth {
			continue
		}
		why := v.Fast.Way + ": " + v.Fast.Why
		if ports[why] == nil {
			reasons = append(reasons, why)
		}
		ports[why] = append(ports[why], v.Name)
	}
	for _, why := range reasons {
		if _, err := fmt.Fprintf(out, "fast %s (%s)\n", why, some(ports[why])); err != nil {
			return err
		}
	}
	return nil
}

// some names a few of a list, and says how many there are.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
