package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares an output with testdata/<name>.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test -update writes it anew):\n%s", path, diff)
	}
}

// reply reads testdata/<name>.json, a reply of the socket, as one line.
func reply(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", " ")
}

// node writes a configuration, for commands that read one before they ask.
func node(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "node.json")
	text := `{"format":1,"name":"D-a","fabric":{"interface":"wire0","address":"10.0.0.1"}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGoldenOutputs: what each command makes of a reply.
func TestGoldenOutputs(t *testing.T) {
	cases := []struct {
		name, command, reply string
		code                 int
	}{
		{"status", "status", "status", exitDone},
		{"status-poll", "status", "status-poll", exitDone},
		{"status-poll-begin", "status", "status-poll-begin", exitDone},
		{"status-offload", "status", "status-offload", exitDone},
		{"rule", "rule", "rule", exitDone},
		{"stats", "stats", "stats", exitDone},
		{"flow", "flow", "flow", exitDone},
		{"flow-none", "flow --network network1", "flow-none", exitDone},
		{"vif", "vif", "vif", exitDone},
		{"apply", "apply FILE", "changes", exitDone},
		{"dry-run", "apply FILE --dry-run", "changes", exitDone},
		{"dry-run-code", "apply FILE --dry-run --exit-code --json", "changes", exitChanges},
		{"no-change", "apply FILE --dry-run --exit-code", "nothing", exitDone},
		{"trace", "trace --port sender --to 10.0.1.4", "trace", exitDone},
		{"trace-drop", "trace --port sender --to 10.0.1.77", "trace-drop", exitDone},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(c.command, "FILE", node(t)))
			code, stdout, stderr := vrouter(append(args, "--socket", serve(t, reply(t, c.reply)))...)
			if code != c.code || c.code == exitDone && stderr != "" {
				t.Errorf("exit %d: %s", code, stderr)
			}
			golden(t, c.name, stdout)
		})
	}
}

// full is where nothing can be written.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space is left") }

// TestFullDisk: what cannot be printed is not reported as done.
func TestFullDisk(t *testing.T) {
	for command, answer := range map[string]string{"status": "status", "flow": "flow", "stats --json": "stats", "apply FILE": "changes", "apply FILE --dry-run": "nothing", "trace --port sender --to 10.0.1.4": "trace"} {
		args := strings.Fields(strings.ReplaceAll(command, "FILE", node(t)))
		var problems strings.Builder
		code := run(append(args, "--socket", serve(t, reply(t, answer))), strings.NewReader(""), full{}, &problems)
		if code != exitFailed || !strings.Contains(problems.String(), "no space is left") {
			t.Errorf("%s: exit %d: %s", command, code, problems.String())
		}
	}
}

// TestHelp: the help of those with most to tell is what the golden files show.
func TestHelp(t *testing.T) {
	t.Setenv(socketVariable, "")
	for _, command := range []string{"", "apply", "trace", "stats", "flow"} {
		t.Run(command, func(t *testing.T) {
			code, stdout, _ := vrouter(append(strings.Fields(command), "--help")...)
			if code != exitDone {
				t.Errorf("exit %d", code)
			}
			golden(t, strings.TrimSuffix("help-"+command, "-"), stdout)
		})
	}
}

// TestRefusedReply: what the vRouter refuses exits as what this program refuses.
func TestRefusedReply(t *testing.T) {
	socket := serve(t, `{"ok":false,"refused":true,"error":"make the veth first"}`)
	code, _, stderr := vrouter("apply", node(t), "--socket", socket)
	if code != exitRefused || stderr != "vrouter: make the veth first\n" {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestLive: packets are printed as they come, and their number in the end.
func TestLive(t *testing.T) {
	line := strings.Replace(reply(t, "trace"), `"out"`, `"was"`, 1)
	socket := serve(t, line+"\n"+line+"\n"+`{"ok":true,"watched":2}`)
	code, stdout, stderr := vrouter("trace", "--live", "--port", "sender", "--socket", socket)
	if code != exitDone || stderr != "2 packets matched\n" || strings.Count(stdout, "in, from port sender") != 2 {
		t.Errorf("exit %d: %s\n%s", code, stderr, stdout)
	}
}
