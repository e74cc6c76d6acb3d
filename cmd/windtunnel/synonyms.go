package main

import (
	"slices"
	"strings"

	"windtunnel/result"
)

// synonyms are words for one thing: what a flag is called here by one command or kind and otherwise by another, by iperf3 or by ntttcp.
// Who takes one that a command has not means the first one that it has. Some are a flag with its value.
var synonyms = [][]string{
	{"rate", "packets", "bandwidth", "bitrate", "pps", "b"},
	{"message", "size", "length", "len", "l"},
	{"streams", "flows", "parallel", "connections", "concurrency", "sessions", "P"},
	{"time", "budget", "duration", "seconds", "runtime", "t"},
	{"warmup", "omit", "O"},
	{"interval", "i"},
	{"port", "p"},
	{"bind", "listen", "address", "B"},
	{"kind datagram", "protocol udp", "udp", "u"},
	{"direction reverse", "reverse", "R"},
	{"direction both", "bidir", "bidirectional"},
	{"buffer", "window", "w"},
	{"copy zerocopy", "zerocopy", "Z"},
	{"congestion", "C"},
	{"mss", "M"},
	{"dscp", "tos", "S"},
	{"nodelay", "no-delay", "N"},
	{"cpus", "affinity", "A"},
	{"once", "one-off", "1"},
	{"json", "J"},
}

// meant is the flag of a command that was most likely meant by a word: a synonym before what is spelled alike, be that a flag's name or
// a synonym of one.
func meant(word string, flags []string) (is string, ok bool) {
	if is, ok = synonym(word, flags); ok || len(word) == 1 {
		return is, ok
	}
	alike, ok := result.Nearest(word, slices.Concat(flags, slices.Concat(synonyms...)))
	if ok && !slices.Contains(flags, alike) {
		if is, ok = synonym(alike, flags); ok {
			return is, ok
		}
	}
	return result.Nearest(word, flags)
}

// synonym is what a command calls what was meant by a flag that it has not.
func synonym(word string, flags []string) (is string, ok bool) {
	for _, group := range synonyms {
		if !slices.Contains(group, word) {
			continue
		}
		for _, other := range group {
			if name, _, _ := strings.Cut(other, " "); slices.Contains(flags, name) {
				return other, true
			}
		}
	}
	return "", false
}
