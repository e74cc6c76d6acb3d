package agent

import (
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/generator"
	"windtunnel/traffic/kinds"
)

// Traffic lists the kinds of load that workers run, with their options, and the choice of
// the program that makes them.
func Traffic() map[string][]result.Option {
	words := map[string][]result.Option{}
	for _, kind := range kinds.All() {
		words[kind.Name()] = append(kind.Options(), generator.Options(kind.Name())...)
	}
	return words
}

// CheckLoad refuses a load whose generator cannot express it, by the option's name, or
// whose options do not fit each other.
func CheckLoad(kind string, load result.Options) error {
	if err := generator.Check(kind, Traffic()[kind], load); err != nil {
		return err
	}
	k, known := kinds.ByName(kind)
	if program, _ := generator.Program(load); !known || program != "" {
		return nil
	}
	own := result.Options{}
	for _, o := range k.Options() {
		if value, set := load[o.Name]; set {
			own[o.Name] = value
		}
	}
	return k.Check(own)
}

// Foreign is the program of others that makes a load, and how to get it; "" for none.
func Foreign(load result.Options) (program, install string) { return generator.Program(load) }

// Generator is the program of others that makes a load, and how to get it, "" for our own engine. An error is that
// it cannot be told such a load.
func Generator(kind string, load result.Options) (program, install string, err error) {
	k, _ := kinds.ByName(kind)
	if foreign, ok := k.(traffic.Foreign); ok {
		return foreign.Generator(load)
	}
	return "", "", nil
}

// Begins is how long the program of others that makes a load takes to be ready: usually, and at most before it is given up.
// 0 if it is as fast as our own engine, or there is none.
func Begins(kind string, load result.Options) (usual, most time.Duration) {
	k, _ := kinds.ByName(kind)
	if foreign, ok := k.(traffic.Foreign); ok {
		return foreign.Begins(load.Text("generator"))
	}
	return 0, 0
}

// usualWait is for how long the ends of a load may wait for its last answers within what every worker and trial has to end.
const usualWait = 1500 * time.Millisecond

// Lingers is for how much longer than that the ends of a load may wait for its last answers; 0 of most.
func Lingers(kind string, load result.Options) time.Duration {
	k, _ := kinds.ByName(kind)
	if l, is := k.(traffic.Lingerer); is {
		return max(0, l.Lingers(load)-usualWait)
	}
	return 0
}

// readyWithin bounds how long an end of a load may take to be ready.
func readyWithin(kind string, load result.Options) time.Duration {
	_, most := Begins(kind, load)
	return prepareTimeout + most
}
