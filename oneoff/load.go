package oneoff

import (
	"fmt"
	"math"

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
	made := result.Options{}
	var names []string
	for _, o := range kind.Options() {
		names = append(names, o.Name)
		value, set := given[o.Name]
		if !set || value == nil {
			value = o.Default
		}
		if value == nil {
			continue
		}
		kept, err := keep(o, value)
		if err != nil {
			return nil, fmt.Errorf("option %s of the kind %s: %w", o.Name, kind.Name(), err)
		}
		made[o.Name] = kept
	}
	for name := range given {
		if _, known := made[name]; !known && given[name] != nil {
			return nil, fmt.Errorf("%s", result.UnknownWord("option of the kind "+kind.Name(), name, names))
		}
	}
	return made, nil
}

// keep returns a value in its option's Go type, within its bounds.
func keep(o result.Option, value any) (any, error) {
	switch o.Type {
	case result.Switch:
		if v, ok := value.(bool); ok {
			return v, nil
		}
	case result.Word:
		if v, ok := value.(string); ok {
			return keepWord(o, v)
		}
	default:
		return keepNumber(o, value)
	}
	return nil, fmt.Errorf("its value is a %T, not a %s", value, o.Type)
}

func keepWord(o result.Option, word string) (any, error) {
	const longest = 256
	if len(word) > longest {
		return nil, fmt.Errorf("%d bytes are too long for a word", len(word))
	}
	return o.Parse(word)
}

func keepNumber(o result.Option, value any) (any, error) {
	switch value.(type) {
	case int, int64, float64:
	default:
		return nil, fmt.Errorf("its value is a %T, not a %s", value, o.Type)
	}
	v := result.Options{"": value}.Float("")
	if math.IsNaN(v) || v < o.Min || o.Max != 0 && v > o.Max {
		return nil, fmt.Errorf("%g is not within %g and %g", v, o.Min, o.Max)
	}
	if o.Type != result.Count && o.Type != result.Size {
		return v, nil
	}
	if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return nil, fmt.Errorf("%g is not a whole number", v)
	}
	return int64(v), nil
}

// What a stranger's load may cost a receiver.
const (
	maxForeignThreads = 64
	maxForeignMemory  = 1 << 30 // bytes
)

// affordable refuses a load that would take a receiver's threads or memory.
func affordable(load result.Options) error {
	if threads := load.Int("threads"); threads > maxForeignThreads {
		return fmt.Errorf("%d threads are more than the %d that this receiver gives one sender", threads, maxForeignThreads)
	}
	if bytes := memoryOf(load); bytes > maxForeignMemory {
		return fmt.Errorf("this load could take %d MiB of the receiver's memory, more than the %d MiB that it gives one sender: "+
			"ask for fewer streams or flows, smaller messages, buffers or windows", bytes>>20, maxForeignMemory>>20)
	}
	return nil
}

// memoryOf is about what a load takes at its receiver, by the words that kinds
// use: messages of each thread or flow, a bit a number of each flow's window, and
// the sockets' buffers. No product of two bounded options overflows a float.
func memoryOf(load result.Options) int64 {
	threads, flows := max(load.Float("threads"), 1), load.Float("flows")
	sockets := max(load.Float("streams"), flows, threads)
	bytes := max(threads, flows) * (load.Float("message") + load.Float("response"))
	bytes += flows * load.Float("window") / 8
	bytes += sockets * load.Float("buffer")
	return int64(min(bytes, 1<<60))
}
