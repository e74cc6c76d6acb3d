package frame

import (
	"fmt"
	"maps"
	"slices"

	"windtunnel/result"
	"windtunnel/traffic"
)

// The words of the options.
const (
	auto          = "auto"
	byXDP         = "xdp"
	byTC          = "tc"
	byPacket      = traffic.PacketSocket
	byPort        = "dpdk" // no option: of a port of poll mode it is the only way
	varyPorts     = "ports"
	varyAddresses = "addresses"
)

// The limits of the options.
const (
	maxFlows   = 1_000_000
	maxThreads = 256
	maxRate    = 1e9
	maxBurst   = 4096
)

var options = []result.Option{
	{Name: "size", Type: result.Size, Words: []string{imix}, Min: smallestIPv4, Max: largestFrame, Default: int64(smallestIPv4), Says: "bytes of a frame with its FCS (RFC 2544); over IPv6 84 at least, because the headers and the number need as much; imix: 64, 570 and 1518 bytes in turn, 7 : 4 : 1"},
	{Name: "flows", Type: result.Count, Min: 1, Max: maxFlows, Default: int64(1), Says: "flows, in turn"},
	{Name: "vary", Type: result.Word, Words: []string{varyPorts, varyAddresses}, Default: varyPorts, Says: "what tells flows apart: UDP ports, or source addresses of 198.18.0.0/15 (RFC 2544) or 2001:2::/48 (RFC 5180), which the path must let pass"},
	{Name: "packets", Type: result.PacketRate, Min: 0, Max: maxRate, Says: "frames a second, over all flows; absent or 0: as fast as it goes. Live frames keep it by spinning"},
	{Name: "burst", Type: result.Count, Min: 1, Max: maxBurst, Beside: []string{"packets"}, Says: "frames that a sender which fell behind may send at once; absent: those of 10 ms, 16 to 256"},
	{Name: "threads", Type: result.Count, Min: 1, Max: maxThreads, Default: int64(1), Says: "hot threads of the sender, each with flows of its own, so at most as many as flows"},
	{Name: "method", Type: result.Word, Words: []string{auto, byXDP, byPacket}, Default: auto, Says: "how frames leave: XDP live frames, or an AF_PACKET socket; auto probes the path, and is all that a port of poll mode takes"},
	{Name: "sink", Type: result.Word, Words: []string{auto, byXDP, byTC, byPacket}, Default: auto, Says: "where frames are counted; auto: at native XDP and tc together, each frame once, or at the port of poll mode"},
	{Name: "generator", Type: result.Word, Words: generators(), Says: "the program that sends, at a port of poll mode; absent: windtunnel's own. Others send frames of one size, as fast as they go: testpmd one flow, pktgen (Pktgen-DPDK) up to 4096, trex (TRex) up to 32768"},
}

// load is the options of one worker, typed.
type load struct {
	sizes     mix
	flows     uint32
	addresses bool    // flows differ in addresses
	rate      float64 // frames per second; 0: as fast as it goes
	burst     int     // frames
	threads   int
	method    string
	sink      string
	generator string // "": our own
}

func parseLoad(given result.Options) (load, error) {
	given, err := result.Fill(options, given)
	if err != nil {
		return load{}, err
	}
	l := load{
		sizes:     sizesOf(given),
		flows:     uint32(given.Int("flows")),
		addresses: given.Text("vary") == varyAddresses,
		rate:      given.Float("packets"),
		burst:     int(given.Int("burst")),
		threads:   int(given.Int("threads")),
		method:    given.Text("method"),
		sink:      given.Text("sink"),
		generator: given.Text("generator"),
	}
	if l.burst == 0 {
		l.burst = min(max(int(l.rate/100), 16), 256)
	}
	if l.threads > int(l.flows) {
		return load{}, fmt.Errorf("%d threads for %d flows: a thread without a flow does nothing; set flows to at least %d", l.threads, l.flows, l.threads)
	}
	return l, nil
}

// unpaced is a load without the burst where it has no rate to keep: a search's, whose trials have one.
func unpaced(given result.Options) result.Options {
	if given.Float("packets") > 0 {
		return given
	}
	flat := maps.Clone(given)
	delete(flat, "burst")
	return flat
}

// share is the flows of one thread: from first to before end.
func (l load) share(thread int) (first, end uint32) {
	at := func(i int) uint32 { return uint32(uint64(l.flows) * uint64(i) / uint64(l.threads)) }
	return at(thread), at(thread + 1)
}

// alike reports whether two loads differ in nothing but their rate, and in the burst that it has.
func (l load) alike(o load) bool {
	return slices.Equal(l.sizes, o.sizes) && l.flows == o.flows && l.addresses == o.addresses && l.threads == o.threads &&
		l.method == o.method && l.sink == o.sink && l.generator == o.generator
}

// frames describes the load for a result.
func (l load) frames(countedAt string) *result.Frames {
	return &result.Frames{Size: l.sizes.mean(), WireSize: l.sizes.mean() + wireExtra, Mix: l.sizes.genome(), Layer: "ethernet", CountedAt: countedAt, Flows: int(l.flows)}
}
