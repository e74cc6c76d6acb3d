package frame

import (
	"fmt"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// own is the word for this package's own senders, which are the default.
const own = "windtunnel"

// A tool is a program of others that sends frames of one size at a port of poll mode.
type tool struct {
	name    string
	program string // as it is called
	install string
	can     string        // what it can be told, in words
	flows   uint32        // that it sends at most, in turn
	largest int           // bytes of a frame with FCS; 0: as large as the port takes
	begins  time.Duration // what it takes to be ready to send
	within  time.Duration // the same, before it is given up
}

// tools are those that can be driven.
var tools = []tool{
	{
		name: "testpmd", program: "dpdk-testpmd", install: "apt-get install dpdk-dev", flows: 1,
		can: "it sends one flow of frames of one size, as fast as they go",
	},
	{
		name: "pktgen", program: "pktgen", install: "build Pktgen-DPDK (github.com/pktgen/Pktgen-DPDK) with the installed DPDK and put its program pktgen into a folder of PATH",
		can:   fmt.Sprintf("it sends up to %d flows, which differ in ports, of frames of one size up to %d bytes, as fast as they go, because it makes up for nothing that it sends late and so keeps no rate", pktgenFlows, pktgenFrame),
		flows: pktgenFlows, largest: pktgenFrame, begins: pktgenBegins, within: pktgenWithin,
	},
	{
		name: "trex", program: "_t-rex-64", install: "unpack a release of TRex (github.com/cisco-system-traffic-generator/trex-core) and put a link to its program _t-rex-64 into a folder of PATH",
		can:   fmt.Sprintf("it sends up to %d flows, which differ in ports, of frames of one size up to %d bytes, as fast as they go, and drops what a full port does not take", trexFlows, trexFrame),
		flows: trexFlows, largest: trexFrame, begins: trexBegins, within: trexWithin,
	},
}

// What Pktgen-DPDK can be told.
const (
	// pktgenFlows are written into its frames before it begins; it has 16,384 of them, which it sends in turn, so
	// flows have nearly as many each.
	pktgenFlows = 4096
	// pktgenFrame is the largest without its option for jumbo frames, whose frames are longer than its own buffers.
	pktgenFrame = 1518
	// pktgenWire is the link's speed, in Mbit/s, beyond which it sends nothing: the fastest that DPDK's virtio driver
	// takes. Without it the link would be one of 10 Gbit/s, which "as fast as they go" would end at.
	pktgenWire = 200_000
	// What it takes to begin on a machine that is idle: EAL's start, its buffers' filling, and up to a second until it looks at its link.
	pktgenBegins = 1500 * time.Millisecond
	pktgenWithin = 12 * time.Second
)

// What TRex can be told.
const (
	// trexFlows is a power of two for which there are ports enough from the first one on.
	trexFlows = 32768
	// trexFrame is the largest that its port takes with buffers that virtio can do with.
	trexFrame = 1518
	// What it takes to begin: EAL's start, and a second that it waits for its links by default (its option -w).
	trexBegins = 3 * time.Second
	trexWithin = 15 * time.Second
)

var _ traffic.Foreign = Kind{}

// generators are the words of the option.
func generators() []string {
	words := []string{own}
	for _, t := range tools {
		words = append(words, t.name)
	}
	return words
}

// toolOf is the tool that a load asks for, false for our own senders.
func (l load) tool() (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == l.generator })
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}

// Largest is the longest frame that a tool sends, 0 for any that the port takes.
func (Kind) Largest(generator string) int {
	t, _ := load{generator: generator}.tool()
	return t.largest
}

// Begins is what a tool takes to be ready.
func (Kind) Begins(generator string) (usual, most time.Duration) {
	t, _ := load{generator: generator}.tool()
	return t.begins, t.within
}

// Generator is the program of others that sends, "" for our own senders. What it cannot be told is
// refused by the option's name.
func (Kind) Generator(given result.Options) (program, install string, err error) {
	l, err := parseLoad(unpaced(given))
	if err != nil {
		return "", "", err
	}
	t, foreign := l.tool()
	if !foreign {
		return "", "", nil
	}
	for _, o := range []struct {
		name string
		told bool
	}{
		{"size", len(l.sizes) == 1 && (t.largest == 0 || l.sizes[0] <= t.largest)}, {"flows", l.flows <= t.flows}, {"vary", !l.addresses},
		{"packets", l.rate == 0}, {"burst", given.Int("burst") == 0}, {"method", l.method == auto}, {"sink", l.sink == auto},
	} {
		if !o.told {
			return "", "", fmt.Errorf("%s cannot be told `%s: %v`: %s; leave %s out, or the generator, so that windtunnel sends", t.name, o.name, given[o.name], t.can, o.name)
		}
	}
	return t.program, t.install, nil
}
