package agent

import (
	"windtunnel/result"
	"windtunnel/traffic/kinds"
)

// Traffic lists the kinds of load that workers run, with their options.
func Traffic() map[string][]result.Option {
	words := map[string][]result.Option{}
	for _, kind := range kinds.All() {
		words[kind.Name()] = kind.Options()
	}
	return words
}
