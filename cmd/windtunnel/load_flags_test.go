package main

import (
	"bytes"
	"strings"
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

// TestTwoKindsAreRefused, whichever flags stand beside them: those of the first were offered.
func TestTwoKindsAreRefused(t *testing.T) {
	for _, line := range []string{
		"send h --kind stream --kind datagram", "send h --kind stream --packets 10k/s --kind=datagram", "send h --kind stream --kind datagram --help",
		"search h --rate 1 --kind frame --kind datagram", "send h --kind ping --kind datagram --message 9",
	} {
		var out, said bytes.Buffer
		code := windtunnel(strings.Fields(line), nil, &out, &said)
		if code != exitRefused || out.Len() > 0 || !strings.Contains(said.String(), "are two kinds, and a measurement has one") {
			t.Errorf("%s: exit code %d: %s%s", line, code, out.String(), said.String())
		}
	}
	c := sendCommand(streams{}, []string{"--kind", "ping", "--kind=ping"})
	if err := c.ParseFlags([]string{"--kind", "ping", "--kind=ping", "--response", "9B"}); err != nil {
		t.Errorf("one kind twice: %v", err)
	}
}

// TestADurationThatIsRefused says why: of one that is out of bounds it was said that it is no length of time, and to write just such a one.
func TestADurationThatIsRefused(t *testing.T) {
	for value, want := range map[string]string{"3m": "is too large", "0s": "is too small", "1": "lacks its unit", "x": "is not a duration"} {
		var out, said bytes.Buffer
		code := windtunnel([]string{"ping", "h", "--wait", value}, nil, &out, &said)
		if code != exitRefused || !strings.Contains(said.String(), "--wait: `"+value+"` "+want) {
			t.Errorf("%s: exit code %d: %s", value, code, said.String())
		}
	}
}
