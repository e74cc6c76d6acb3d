package core_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
)

// buildHost compiles the core for the host, with the sanitizers.
func buildHost(t *testing.T, source string) string {
	t.Helper()
	for _, compiler := range []string{"clang-19", "clang", "gcc"} {
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		out := filepath.Join(t.TempDir(), "host")
		build := exec.Command(path, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
			"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", out, filepath.Join(golden.Folder(), "testdata", source))
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("compiling the core with %s: %v\n%s", compiler, err, text)
		}
		return out
	}
	t.Skip("skip: needs a C compiler (clang or gcc) with its sanitizers")
	return ""
}

var ifindex = map[string]uint32{"fabric": 10, "vif1": 11, "vif2": 12, "vif3": 13, "vif4": 14, "vif5": 15, "vif6": 16, "vif7": 17, "vif8": 18}

// TestCoreOnHost lets the compiled core decide and build every golden frame.
func TestCoreOnHost(t *testing.T) {
	host := buildHost(t, "host.c")
	cases, c := golden.Load(t)
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
	run := exec.Command(host, tables)
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
	for i, k := range cases {
		t.Run(k.Name, func(t *testing.T) { checkHost(t, k, lines[i]) })
	}
}

func checkHost(t *testing.T, k golden.Case, line string) {
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
