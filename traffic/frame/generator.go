package frame

import (
	"fmt"
	"slices"

	"windtunnel/result"
	"windtunnel/traffic"
)

// own is the word for this package's own senders, which are the default.
const own = "windtunnel"

// A tool is a program of others that sends frames at a port of poll mode. All that it sends are
// copies of one frame, as fast as they go.
type tool struct {
	name    string
	program string // as it is called
	install string
}

// tools are those that can be driven.
var tools = []tool{
	{name: "testpmd", program: "dpdk-testpmd", install: "apt-get install dpdk-dev"},
}

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

// Generator is the program of others that sends, "" for our own senders. What it cannot be told is
// refused by the option's name.
func (Kind) Generator(given result.Options) (program, install string, err error) {
	l, err := parseLoad(given)
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
		{"size", len(l.sizes) == 1}, {"flows", l.flows == 1}, {"vary", !l.addresses}, {"packets", l.rate == 0},
		{"burst", given.Int("burst") == 0}, {"method", l.method == auto}, {"sink", l.sink == auto},
	} {
		if !o.told {
			return "", "", fmt.Errorf("%s cannot be told `%s: %v`: it sends one flow of frames of one size, as fast as they go; leave %s out, or the generator", t.name, o.name, given[o.name], o.name)
		}
	}
	return t.program, t.install, nil
}
