package config

import "slices"

// Offload is whether devices are given rules to forward by in the vRouter's place. It changes what packets
// cost, never what becomes of them.
type Offload string

const (
	// OffloadOff leaves all packets to software. The default.
	OffloadOff Offload = "off"
	// OffloadAuto gives devices what they take, and leaves the rest to software.
	OffloadAuto Offload = "auto"
)

// maxOffloadFlows is how many flows may be named; a device has room for some thousand rules, and a flow takes
// up to eight.
const maxOffloadFlows = 10_000

var offloads = []string{string(OffloadOff), string(OffloadAuto)}

// offload: an outer UDP checksum is of all of a packet's bytes, which no header that a rule pushes can have.
func (k *checker) offload() *Error {
	c := k.config
	switch {
	case c.Offload != "" && !slices.Contains(offloads, string(c.Offload)):
		return bad("offload", "there is no %q%s", c.Offload, nearest(string(c.Offload), slices.Clone(offloads)))
	case c.Offload == OffloadAuto && c.Fabric.UDPChecksum:
		return bad("offload", `no rule can make an outer UDP checksum; leave one of %q and "udp_checksum" out`, "offload")
	case c.Offload != OffloadAuto && len(c.OffloadFlows) > 0:
		return bad("offload_flows", `is for "offload": "auto"`)
	case len(c.OffloadFlows) > maxOffloadFlows:
		return bad("offload_flows", "%d are more than the %d that can be named", len(c.OffloadFlows), maxOffloadFlows)
	}
	return nil
}
