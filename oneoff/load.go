package oneoff

import (
	"fmt"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/kinds"
)

// KindByName returns a kind of load; its error names the one that was meant.
func KindByName(name string) (traffic.Kind, error) {
	kind, ok := kinds.ByName(name)
	if !ok {
		return nil, fmt.Errorf("%s", result.UnknownWord("kind of traffic", name, Kinds()))
	}
	return kind, nil
}

// Kinds lists the kinds of load by name.
func Kinds() []string {
	var names []string
	for _, kind := range kinds.All() {
		names = append(names, kind.Name())
	}
	return names
}

// complete checks a load against a kind's options and fills the defaults in, so
// that both ends have the same and a result says all of it. What was given may
// come from a stranger.
func complete(kind traffic.Kind, given result.Options) (result.Options, error) {
	full, err := result.Fill(kind.Options(), given)
	if err != nil {
		return nil, fmt.Errorf("the kind %s: %w", kind.Name(), err)
	}
	if err := kind.Check(full); err != nil {
		return nil, err
	}
	return full, nil
}

// What a stranger's load may cost a receiver.
const (
	maxForeignThreads = 64
	maxForeignMemory  = 1 << 30 // bytes
	// maxForeignTogether bounds all senders' memory: one that is left running shall not be made to
	// take its machine's, by many senders of which each is within its own bound.
	maxForeignTogether = 2 * maxForeignMemory
)

// affordable refuses a load that would take a receiver's threads or memory.
func affordable(load result.Options) error {
	if threads := load.Int("threads"); threads > maxForeignThreads {
		return fmt.Errorf("%d threads are more than the %d that this receiver gives one sender", threads, maxForeignThreads)
	}
	if bytes := memoryOf(load); bytes > maxForeignMemory {
		return fmt.Errorf("this load could take %d MiB of the receiver's memory, more than the %d MiB that it gives one sender: "+
			"%s", mib(bytes), maxForeignMemory>>20, askForLess)
	}
	return nil
}

const askForLess = "ask for fewer streams or flows, smaller messages, buffers or windows"

// mib counts a begun MiB as a whole one: no load takes 0.
func mib(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// memoryOf is about what a load takes at its receiver, by the words that kinds
// use: messages of each thread or flow, a bit a number of each flow's window, the
// sockets' buffers, and what is remembered of frames' numbers. No product of two bounded options overflows a float.
func memoryOf(load result.Options) int64 {
	threads, flows := max(load.Float("threads"), 1), load.Float("flows")
	sockets := max(load.Float("streams"), flows, threads)
	bytes := max(threads, flows) * (load.Float("message") + load.Float("response"))
	if window := load.Float("window"); window > 0 { // receivers of datagrams remember as many numbers, and of few flows more
		bytes += flows * max(window, min(1<<20, 1<<28/flows)) / 8
	}
	if _, messages := load["message"]; !messages { // frames, in any number of flows; traffic/frame's wordsPerFlow is the reason
		bytes += 16<<10*min(flows, 1<<10) + 16*flows
	}
	if load.Text("direction") == "both" {
		sockets *= 2
	}
	// Each socket has both buffers, of which the kernel takes twice what it is asked for (socket(7)).
	bytes += sockets * 2 * (load.Float("buffer") + max(load.Float("buffer"), load.Float("receive-buffer")))
	return int64(min(bytes, 1<<60))
}
