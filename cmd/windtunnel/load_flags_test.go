package main

import (
	"testing"

	"github.com/spf13/cobra"

	"windtunnel/oneoff"
	"windtunnel/traffic/kinds"
)

// TestKindsLeaveTheCommandsFlagsAlone: an option that is named as a flag of the
// commands would end the program before it began.
func TestKindsLeaveTheCommandsFlagsAlone(t *testing.T) {
	for _, kind := range kinds.All() {
		c := sendCommand(streams{}, []string{"send", "--kind", kind.Name()})
		for _, o := range kind.Options() {
			flag := c.Flags().Lookup(o.Name)
			if flag == nil {
				t.Fatalf("%s has no flag for %s", kind.Name(), o.Name)
			}
			if o.Default != nil && flag.DefValue == "" {
				t.Errorf("--%s of %s shows no default", o.Name, kind.Name())
			}
			if _, ours := flag.Value.(*optionValue); !ours {
				t.Errorf("--%s of %s is the command's own flag", o.Name, kind.Name())
			}
		}
	}
}

// TestCommandsOfOneKind have that kind's flags.
func TestCommandsOfOneKind(t *testing.T) {
	for flag, c := range map[string]*cobra.Command{"response": pingCommand(streams{}), "vary": framesCommand(streams{})} {
		if c.Flags().Lookup(flag) == nil || c.Flags().Lookup("kind") != nil {
			t.Errorf("%s lacks --%s, or takes --kind", c.Name(), flag)
		}
	}
}

// TestLoadFlags reads values as suites do.
func TestLoadFlags(t *testing.T) {
	c := sendCommand(streams{}, nil)
	if err := c.ParseFlags([]string{"--message", "1390B", "--nodelay", "--rate", "2Gbit/s"}); err != nil {
		t.Fatal(err)
	}
	given := c.Flags().Lookup("message").Value.(*optionValue).given
	if given.Int("message") != 1390 || !given.Bool("nodelay") || given.Float("rate") != 2e9 || len(given) != 3 {
		t.Errorf("got %v", given)
	}
	if c.ParseFlags([]string{"--nodelay=perhaps"}) == nil {
		t.Error("took perhaps for a switch")
	}
}

func TestKindAsked(t *testing.T) {
	for want, args := range map[string][]string{
		"stream": {"send", "10.0.0.2"}, "datagram": {"send", "--kind", "datagram"}, "ping": {"send", "--kind=ping", "x"},
		"frame": {"send", "--time", "1s", "--kind", "frame", "--", "--kind", "ping"},
	} {
		if got := kindAsked(args, "stream"); got != want {
			t.Errorf("%v: got %s", args, got)
		}
	}
	if _, err := oneoff.KindByName(kindAsked([]string{"--kind"}, "stream")); err != nil {
		t.Error(err)
	}
}
