// Package kinds is the registry of the kinds of load: one line a kind.
package kinds

import (
	"windtunnel/traffic"
	"windtunnel/traffic/stream"
)

var all = []traffic.Kind{
	stream.Kind{},
}

// All lists every kind, in the order in which help shows them.
func All() []traffic.Kind { return append([]traffic.Kind(nil), all...) }

// ByName returns the kind of that name.
func ByName(name string) (traffic.Kind, bool) {
	for _, k := range all {
		if k.Name() == name {
			return k, true
		}
	}
	return nil, false
}
