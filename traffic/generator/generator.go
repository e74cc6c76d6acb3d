// Package generator drives programs of others as the workers of a load, so that what a
// tool adds or leaves out shows beside our own engines in the same cell. One file a tool.
//
// A program runs in the endpoint's namespace and on its node's CPUs, for the warm-up and
// the window. Its figures are its own, read from what it prints, over the window's length
// of its run; what the kernel counted beside it (CPU time, TCP_INFO, drops) is over the
// window itself.
package generator

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
)

const (
	// option is the key by which a suite's traffic names a generator.
	option = "generator"
	// own is its word for our engines, which are the default.
	own = "windtunnel"
)

// tool is a program of others that can make a load.
type tool interface {
	name() string
	install() string // how to get it
	// able tells what it can do of a kind of load; false: nothing.
	able(kind string) (ability, bool)
	// server and client are the command lines of a trial's two ends.
	server(t task) []string
	client(t task) []string
	// read turns what an end's program printed into its figures. Where one end tells
	// what both did, the sender's Told is the receiver's.
	read(t task, receives bool, said output) (result.PairEnd, error)
	// version finds the program's version in what it printed, "" if it is not there.
	version(said output) string
}

// ability is what a tool can do of one kind of load.
type ability struct {
	takes []string            // options of the kind that it can be told
	does  map[string][]string // of other options, words beside the default that say what it does anyway
	// kernel says that the tool leaves the choice of congestion control to the kernel.
	kernel bool
	// check refuses values that the tool cannot be told; nil: none.
	check func(load result.Options) error
}

func tools() []tool { return []tool{iperf3{}, ntttcp{}, nuttcp{}, sockperf{}} }

// of returns the tool that a load names; false for our own engine.
func of(load result.Options) (tool, bool) {
	for _, t := range tools() {
		if t.name() == load.Text(option) {
			return t, true
		}
	}
	return nil, false
}

// Drives reports whether a load is a foreign program's.
func Drives(load result.Options) bool {
	_, foreign := of(load)
	return foreign
}

// Options are what a suite's traffic may say of a kind beside the kind's own options:
// the generator, where a tool can make that load.
func Options(kind string) []result.Option {
	words := []string{own}
	for _, t := range tools() {
		if _, able := t.able(kind); able {
			words = append(words, t.name())
		}
	}
	if len(words) == 1 {
		return nil
	}
	return []result.Option{{Name: option, Type: result.Word, Words: words, Says: "the program that makes the load; absent: windtunnel's own engine"}}
}

// Own is a load without the choice of generator, as our own engines take it.
func Own(load result.Options) result.Options {
	kept := result.Options{}
	for name, value := range load {
		if name != option {
			kept[name] = value
		}
	}
	return kept
}

// Check refuses what a load's generator cannot express, by name. Options are the kind's;
// the load is filled. A load of our own passes.
func Check(kind string, options []result.Option, load result.Options) error {
	t, foreign := of(load)
	if !foreign {
		return nil
	}
	a, able := t.able(kind)
	if !able {
		return fmt.Errorf("%s makes no load of kind %s", t.name(), kind)
	}
	for _, o := range options {
		if value := load[o.Name]; !a.expresses(o, value) {
			return fmt.Errorf("%s cannot be told `%s: %s` of %s: leave it out, or the generator (%s takes %s)",
				t.name(), o.Name, result.FormatValue(o.Type, value), kind, t.name(), strings.Join(a.takes, ", "))
		}
	}
	if a.check == nil {
		return nil
	}
	return a.check(load)
}

// expresses reports whether an option's value is one that the tool can be told, or
// what it does anyway.
func (a ability) expresses(o result.Option, value any) bool {
	if o.Name == option || value == nil || slices.Contains(a.takes, o.Name) || o.Name == "congestion" && a.kernel {
		return true
	}
	if word, ok := value.(string); ok && slices.Contains(a.does[o.Name], word) {
		return true
	}
	given, standard := result.Options{"": value}, result.Options{"": o.Default}
	switch o.Type {
	case result.Switch, result.Word:
		return value == o.Default
	case result.Count, result.Size:
		return o.Default != nil && given.Int("") == standard.Int("")
	}
	return o.Default != nil && given.Float("") == standard.Float("")
}

// Program is the program that a load needs beside ours, and how to get it; "" for none.
func Program(load result.Options) (name, install string) {
	t, foreign := of(load)
	if !foreign {
		return "", ""
	}
	return t.name(), t.install()
}
