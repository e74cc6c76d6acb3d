//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"windtunnel/run"
	"windtunnel/scenario"
)

// betweenFlags are what `windtunnel between` takes beside a run's.
type betweenFlags struct {
	run      runFlags
	kinds    []string
	from, to string // addresses
	lookOnly bool
}

func betweenCommand(s streams) *cobra.Command {
	f := betweenFlags{run: runFlags{precision: "5%"}}
	c := &cobra.Command{
		Use:   "between PLACE PLACE",
		Short: "Measure between two places that run already, and draw what lies there",
		Long: "Measures from the first place to the second and back, and draws what lies between, as far as it can be seen. Nothing is built\n" +
			"or changed. A place is here, netns:NAME, pid:NUMBER, docker:NAME, podman:NAME, lxc:NAME, pod:NAMESPACE/NAME[/CONTAINER],\n" +
			"ssh://[USER@]HOST[:PORT][?data=IP] or exec:COMMAND, a command that runs another one in the place.",
		Example: "  windtunnel between docker:web docker:db\n" +
			"  windtunnel between here pod:shop/db-0 --kind datagram,ping\n" +
			"  windtunnel between netns:red 'exec:sudo nsenter --target 4711 --net' --look",
		Args: takes("PLACE", "PLACE"),
		RunE: func(c *cobra.Command, args []string) error { return between(c.Context(), s, args[0], args[1], f) },
	}
	c.Flags().StringSliceVar(&f.kinds, "kind", []string{"stream", "ping"}, "kinds of traffic: stream, datagram, ping")
	c.Flags().StringVar(&f.from, "from-address", "", "where the first place is reached: IP, or IP:PORT of a published port")
	c.Flags().StringVar(&f.to, "to-address", "", "where the second place is reached")
	c.Flags().BoolVar(&f.lookOnly, "look", false, "only draw what lies between, without traffic")
	c.Flags().DurationVar(&f.run.budget, "budget", 30*time.Second, "the time for everything")
	c.Flags().DurationVar(&f.run.window, "window", 0, "length of a trial's window, instead of the planner's")
	c.Flags().StringVar(&f.run.out, "out", "", "the run's folder, which must not exist or be empty (default ./runs/<time>-between)")
	c.Flags().BoolVar(&f.run.json, "json", false, "print the report as JSON")
	return c
}

// between runs the suite that two places make.
func between(ctx context.Context, s streams, from, to string, f betweenFlags) error {
	settings, err := f.run.settings()
	if err != nil {
		return refused(err)
	}
	spec, err := betweenSuite(from, to, f)
	if err != nil {
		return refused(err)
	}
	if f.lookOnly {
		return lookBetween(ctx, s, spec, settings)
	}
	var opened func(run.Plan)
	if !f.run.json { // whose report has the drawing itself
		opened = func(plan run.Plan) { fmt.Fprintln(s.out, plan.Cells[0].Record.Topology) }
	}
	return runSpec(ctx, s, spec, settings, f.run, opened)
}

// lookBetween draws and ends.
func lookBetween(ctx context.Context, s streams, spec scenario.Spec, settings run.Settings) error {
	plan, err := planHere(ctx, spec, settings)
	if err != nil {
		return err
	}
	_, ending, err := spawn(ctx, &plan, "")
	if err = errors.Join(err, ending()); err != nil {
		return failed(err)
	}
	_, err = io.WriteString(s.out, plan.Cells[0].Record.Topology)
	return ended(err)
}

// betweenSuite writes the suite of two places: each kind from the first to the second, and what flows in bulk back as well.
func betweenSuite(from, to string, f betweenFlags) (scenario.Spec, error) {
	var text strings.Builder
	a, b := placeNames(from, to)
	fmt.Fprintf(&text, "suite: between\nasks: %s\npath: existing\nnodes:\n", quoted(fmt.Sprintf("What passes between %s and %s?", from, to)))
	for _, place := range []struct{ name, at, address string }{{a, from, f.from}, {b, to, f.to}} {
		if _, err := scenario.ParsePlace(place.at); err != nil {
			return scenario.Spec{}, err
		}
		fmt.Fprintf(&text, "  %s: {exec: %s", place.name, quoted(place.at))
		if place.address != "" {
			fmt.Fprintf(&text, ", address: %s", quoted(place.address))
		}
		text.WriteString("}\n")
	}
	text.WriteString("cells:\n")
	var ratios []string
	for i, kind := range f.kinds {
		if slices.Contains(f.kinds[:i], kind) {
			continue
		}
		if !slices.Contains([]string{"stream", "datagram", "ping"}, kind) {
			return scenario.Spec{}, fmt.Errorf("--kind %q is not stream, datagram or ping", kind)
		}
		fmt.Fprintf(&text, "  %s: {says: %s to %s, traffic: %s, pairs: [{from: %s, to: %s}]}\n", kind, a, b, kind, a, b)
		if kind == "ping" {
			continue
		}
		fmt.Fprintf(&text, "  %s-back: {says: %s to %s, traffic: %s, pairs: [{from: %s, to: %s}]}\n", kind, b, a, kind, b, a)
		ratios = append(ratios, kind+"-back/"+kind)
	}
	if len(ratios) > 0 {
		fmt.Fprintf(&text, "ratios: [%s]\n", strings.Join(ratios, ", "))
	}
	return scenario.Parse([]byte(text.String()), "between", run.Vocabulary())
}

// quoted writes a text as YAML's double quotes take it, which are JSON's.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// longestPlace is how long a node's name may be.
const longestPlace = 15

// placeNames are short names of two places, different ones.
func placeNames(from, to string) (a, b string) {
	short := func(place string) string {
		_, name, found := strings.Cut(place, ":")
		if !found {
			name = place
		}
		if strings.HasPrefix(place, "ssh:") {
			name, _, _ = strings.Cut(name, "?")
			name = name[strings.LastIndexAny(name, "@/")+1:]
		}
		name = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, name[strings.LastIndex(name, "/")+1:])
		name = strings.Trim(name[:min(len(name), longestPlace-2)], "-")
		if name == "" {
			return "place"
		}
		return name
	}
	if a, b = short(from), short(to); a == b {
		b += "-2"
	}
	return a, b
}
