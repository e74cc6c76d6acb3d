package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"windtunnel/result"
)

var kernelRelease = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$`)

// readRequires lays `requires: {cpus: 2, memory: 4GiB, kernel: "6.8", features:
// [vxlan]}` over what is there, key by key.
func (r *reader) readRequires(n *node, to *Requirements) {
	r.readKeys(n, "`requires`", []handler{
		{key: "cpus", read: func(n *node) {
			if v, ok := r.count(n, "`cpus`", 1, maxCPUs); ok {
				to.CPUs = v
			}
		}},
		{key: "memory", read: func(n *node) {
			if v, ok := parsed(r, n, "`memory`", result.ParseSize); ok {
				to.MemoryBytes = v
			}
		}},
		{key: "kernel", read: func(n *node) {
			if v, ok := parsed(r, n, "`kernel`", parseKernel); ok {
				to.Kernel = v
			}
		}},
		{key: "features", read: func(n *node) { r.readFeatures(n, to) }},
	})
}

func parseKernel(text string) (string, error) {
	if !kernelRelease.MatchString(text) {
		return "", fmt.Errorf("`%s` is not a kernel release; write it like 6.8 or 5.15.0", result.Clip(text))
	}
	return text, nil
}

// readFeatures replaces the list; it does not add to an inherited one.
func (r *reader) readFeatures(n *node, to *Requirements) {
	if !r.isList(n, "`features`", maxFeatures) {
		return
	}
	to.Features = nil
	for _, item := range n.items {
		word, ok := r.word(item, "feature", r.vocab.Features)
		if ok && !slices.Contains(to.Features, word) {
			to.Features = append(to.Features, word)
		}
	}
}
