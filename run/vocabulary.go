package run

import (
	"windtunnel/agent"
	"windtunnel/datapath/paths"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// Vocabulary is every word that a suite may use: paths, kinds of traffic and
// features hand theirs in.
func Vocabulary() scenario.Vocabulary {
	return scenario.Vocabulary{
		Paths:    paths.Vocabulary(),
		Kinds:    agent.Traffic(),
		Features: testbed.Features,
	}
}
