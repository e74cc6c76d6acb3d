package main

import (
	"fmt"
	"slices"

	"windtunnel/datapath/vrouter"
)

// framesText is the suite of small frames; it is text here because its last cell is there only
// where the path has an option for it.
const framesText = `
suite: frames
asks: How many 64-byte frames per second does a path forward?
nodes: {a: {}, b: {}}
traffic: {kind: frame, size: 64B}
wire: {kind: nic, mtu: 1500}
matrix:
  cell:
    pairs:
      - {from: {container: sender, on: a}, to: {container: receiver, on: b}}
  axes:
    over:
      bridge: {path: bridge}
      vxlan: {path: vxlan, says: the kernel's VXLAN}
      tc: {path: {kind: vrouter, encapsulation: mplsoudp, receive: tc%s}, says: "vRouter, MPLSoUDP, at tc"}
%sratios: ["packets: tc/bridge", "packets: tc/vxlan"%s]
`

// framesSuite is the suite, and why a cell is not in it.
func framesSuite() (text string, absent map[string]string) {
	option := xdpOption()
	if option == "" {
		return fmt.Sprintf(framesText, "", "", ""), map[string]string{"fast": "the path vrouter has no option by which ports forward at XDP"}
	}
	fast := fmt.Sprintf("      fast: {path: {kind: vrouter, encapsulation: mplsoudp, %s: xdp}, says: \"vRouter, MPLSoUDP, at XDP\"}\n", option)
	return fmt.Sprintf(framesText, ", "+option+": tc", fast, `, "packets: fast/bridge", "packets: fast/vxlan"`), nil
}

// xdpOption is the path's option, beside that of receiving, which puts forwarding into the driver;
// empty, if it has none.
func xdpOption() string {
	for _, option := range (vrouter.Path{}).Options() {
		if option.Name != "receive" && slices.Contains(option.Words, "xdp") {
			return option.Name
		}
	}
	return ""
}
