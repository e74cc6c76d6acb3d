package core_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/vrouter/built"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
)

// programs is a folder for what several tests run.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "vrouter-core-"); err != nil {
		fmt.Fprintln(os.Stderr, "making a folder for programs:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(programs)
	os.Exit(code)
}

// buildHost compiles the core for the host, with the sanitizers, or gives what the test before compiled:
// it takes as long as all else that these tests do.
func buildHost(t *testing.T, source string) string {
	t.Helper()
	program := filepath.Join(programs, strings.TrimSuffix(source, ".c"))
	if _, err := os.Stat(program); err == nil {
		return program
	}
	return built.CInto(t, programs, "-O1", "address,undefined", filepath.Join(golden.Folder(), "testdata", source))
}

var ifindex = map[string]uint32{"fabric": 10, "vif1": 11, "vif2": 12, "vif3": 13, "vif4": 14, "vif5": 15, "vif6": 16, "vif7": 17, "vif8": 18, "vif9": 19, "vif10": 20}

// TestCoreOnHost lets the compiled core decide and build every golden frame.
func TestCoreOnHost(t *testing.T) {
	cases, c := golden.Load(t)
	checkHost(t, cases, c)
}

// TestFlowCoreOnHost: so it does with ports in flow mode, where each frame comes behind those before it.
func TestFlowCoreOnHost(t *testing.T) {
	cases, c := golden.LoadFlow(t)
	checkHost(t, cases, c)
}

func checkHost(t *testing.T, cases []golden.Case, c config.Config) {
	t.Helper()
	lines := runHost(t, cases, c)
	for i, k := range cases {
		t.Run(k.Name, func(t *testing.T) { checkAnswer(t, k, lines[i]) })
	}
}

// TestQuotesOnHost: where there are several ways, an ICMP error has that of the flow that it is about.
func TestQuotesOnHost(t *testing.T) {
	quotes, c := golden.LoadQuotes(t)
	var cases []golden.Case
	for _, q := range quotes {
		cases = append(cases, golden.Case{At: q.At, In: q.Flow}, golden.Case{At: q.At, In: q.Error})
	}
	lines := runHost(t, cases, c)
	golden.CheckQuotes(t, quotes, func(at string, _ []byte) []byte {
		fields := strings.Split(lines[0], " ")
		lines = lines[1:]
		out, err := hex.DecodeString(fields[2])
		if want := map[bool]string{true: "decap", false: "tunnel"}[at == "fabric"]; err != nil || fields[0] != want {
			t.Fatalf("%v: %v, not %s", err, fields, want)
		}
		return out
	})
}

// runHost gives the cases' frames to the core over the tables of a configuration, and answers a line each.
func runHost(t *testing.T, cases []golden.Case, c config.Config, options ...string) []string {
	t.Helper()
	host := buildHost(t, "host.c")
	image, err := c.Image(golden.Facts(ifindex), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	flat := image.Flat()
	tables := filepath.Join(t.TempDir(), "tables")
	if err := os.WriteFile(tables, bytes.Join(flat[:], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	slots := make(map[uint32]uint32)
	for slot, vif := range image.Vifs {
		slots[vif.Ifindex] = slot
	}
	var input strings.Builder
	for _, k := range cases {
		at := "vif"
		if k.At == "fabric" {
			at = "fabric"
		}
		fmt.Fprintf(&input, "%s %d %d %s\n", at, slots[ifindex[k.At]], k.GSO, k.In)
	}
	run := exec.Command(host, append([]string{tables}, options...)...)
	run.Stdin = strings.NewReader(input.String())
	var problems bytes.Buffer
	run.Stderr = &problems
	output, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, problems.String())
	}
	lines := strings.Split(strings.TrimRight(string(output), "\n"), "\n")
	if len(lines) != len(cases) {
		t.Fatalf("%d answers to %d cases", len(lines), len(cases))
	}
	return lines
}

func checkAnswer(t *testing.T, k golden.Case, line string) {
	fields := strings.Split(line, " ")
	op, drop, out := fields[0], fields[1], fields[2]
	if drop == "-" {
		drop = ""
	}
	if op != k.Op || drop != k.Drop {
		t.Fatalf("%s %s, not %s %s", op, drop, k.Op, k.Drop)
	}
	if err := k.Compare(out); err != nil {
		t.Error(err)
	}
	if len(fields)-3 != len(k.Copies) {
		t.Fatalf("%d copies, not %d", len(fields)-3, len(k.Copies))
	}
	for i, copy := range k.Copies {
		at, out, _ := strings.Cut(fields[3+i], ":")
		if at != fmt.Sprint(ifindex[copy.At]) {
			t.Errorf("copy %d goes to %s, not to %s", i, at, copy.At)
		}
		if err := k.Copy(i).Compare(out); err != nil {
			t.Errorf("copy %d: %v", i, err)
		}
	}
}
