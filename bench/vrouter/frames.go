package main

import (
	"fmt"
	"slices"

	"windtunnel/datapath/vrouter"
	"windtunnel/result"
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

// fastOption is the path's option that puts forwarding into the driver.
const fastOption = "fast"

// framesSuite is the suite, and why a cell is not in it.
func framesSuite() (text string, absent map[string]string) {
	if !slices.ContainsFunc(vrouter.Path{}.Options(), func(o result.Option) bool { return o.Name == fastOption }) {
		return fmt.Sprintf(framesText, "", "", ""), map[string]string{"fast": "the path vrouter has no option " + fastOption + ", by which XDP forwards"}
	}
	const cell = "      fast: {path: {kind: vrouter, encapsulation: mplsoudp, fast: on}, says: \"vRouter, MPLSoUDP, at XDP\"}\n"
	return fmt.Sprintf(framesText, ", fast: off", cell, `, "packets: fast/bridge", "packets: fast/vxlan"`), nil
}
