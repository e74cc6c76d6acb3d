package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// hop is a place on the way at which packets have a size of their own.
type hop struct {
	factor string
	says   string
	end    string // whose CPU handles each of its packets
	size   value  // mean bytes
	// counts tells whether so much smaller packets are a cause there, and no consequence of another.
	counts func(c contrast, worse, better float64) bool
}

// hops are in the order in which packets come by: what is smaller at one of them is so from there on, so the first one
// that counts is the cause, and the others follow from it.
//
// TCP makes its super-packets the smaller, the slower it goes (tcp_tso_autosize in net/ipv4/tcp_output.c), so at the
// sender's interface it counts only that there are none at all. What a receiver joins depends on the rate as well, but less.
var hops = []hop{
	{"segmentation", "nothing leaves the sender's interface in one piece that is longer than its MTU: a packet there has", atSender,
		linkSize(atSender, func(l result.LinkSample) (uint64, uint64) { return l.TxBytes, l.TxPackets }), contrast.whole},
	{"mtu", "packets on the wire are smaller: one has", atBoth, metric(result.WirePacketSize), atMostOf(1 / 1.2)},
	{"aggregation", "the receiver joins fewer packets: its stack gets", atReceiver, metric(result.EndpointPacketSize), atMostOf(1 / 1.5)},
}

// atMostOf is a hop's counts of packets that are at most so much of the other cell's.
func atMostOf(share float64) func(contrast, float64, float64) bool {
	return func(_ contrast, worse, better float64) bool { return worse <= share*better }
}

// whole tells whether the worse cell has no packets beyond its MTU, and the better one mostly such.
func (c contrast) whole(worse, better float64) bool {
	const header = 18 // of Ethernet, a tag included
	return worse <= float64(c.worse.Spec.MTU.Endpoint+header) && better >= 2*float64(c.better.Spec.MTU.Endpoint+header)
}

// linkSize is the mean size of packets at an end's own interfaces, which are not the wire.
func linkSize(end string, of func(result.LinkSample) (bytes, packets uint64)) value {
	return func(c Cell, t result.Trial) (float64, bool) {
		places := c.placesAt(end)
		var bytes, packets uint64
		for _, s := range t.Nodes {
			for _, l := range s.Links {
				if l.Role == result.RoleEndpoint && places[l.Place] {
					b, p := of(l)
					bytes, packets = bytes+b, packets+p
				}
			}
		}
		return float64(bytes) / float64(max(packets, 1)), packets > 0
	}
}

// placesAt are the names of an end's places.
func (c Cell) placesAt(end string) map[string]bool {
	all := map[string]bool{}
	reversed := c.Spec.Load.Text("direction") == "reverse"
	for _, p := range c.Spec.Pairs {
		if (end == atSender) != reversed {
			all[p.From.Name()] = true
		} else {
			all[p.To.Name()] = true
		}
	}
	return all
}

// packetCause is the first place on the way at which the worse cell has smaller packets: every packet costs what it
// costs, however little is in it.
func packetCause(c contrast) []Cause {
	for i, h := range hops {
		size := c.two(h.size)
		ratio, differs := size.ratio()
		w, b := size.means()
		if !differs || !h.counts(c, w, b) {
			continue
		}
		evidence := []string{}
		for _, later := range hops[i+1:] {
			if after := c.two(later.size); after.known() {
				evidence = append(evidence, c.compared("%.0f bytes "+places[later.factor], after))
			}
		}
		worse, better := c.names()
		return []Cause{{
			Factor: c.named(h.factor), end: h.end, Share: notKnown(), rank: rank{dearer, -math.Log(ratio)},
			Says:     fmt.Sprintf("%s %.0f bytes in %s, %.0f in %s (%s)", h.says, w, worse, b, better, times(ratio)),
			Evidence: append(c.settings(h.factor), evidence...),
		}}
	}
	return nil
}

// named calls smaller packets of one MTU what they are.
func (c contrast) named(factor string) string {
	if factor == "mtu" && c.worse.Spec.MTU.Wire == c.better.Spec.MTU.Wire {
		return "packet-size"
	}
	return factor
}

// places say where a later hop's sizes are.
var places = map[string]string{"mtu": "on the wire", "aggregation": "at the receiving stack"}

// settings are what the two cells are set to that such sizes come from.
func (c contrast) settings(factor string) []string {
	var all []string
	worse, better := c.names()
	add := func(what, w, b string) {
		if w != b {
			all = append(all, fmt.Sprintf("%s: %s in %s, %s in %s", what, orUnset(w), worse, orUnset(b), better))
		}
	}
	gro := func(of Cell) string {
		if of.Spec.Wired != nil {
			return of.Spec.Wired.GRO
		}
		return ""
	}
	switch factor {
	case "mtu":
		add("MTU of the wire", fmt.Sprint(c.worse.Spec.MTU.Wire), fmt.Sprint(c.better.Spec.MTU.Wire))
	case "aggregation":
		add("GRO of the wire's ends", gro(c.worse), gro(c.better))
	}
	add("segmentation", c.worse.Spec.Segmentation, c.better.Spec.Segmentation)
	add("kind of wire", c.worse.Spec.Wire, c.better.Spec.Wire)
	return append(all, c.readBack(lengthens[factor]...)...)
}

// lengthens are by factor the settings of interfaces that such sizes come from.
var lengthens = map[string][]string{
	"segmentation": {result.OffloadTSO, result.OffloadGSO},
	"mtu":          {"MTU"},
	"aggregation":  {result.OffloadGRO},
}

func orUnset(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}
