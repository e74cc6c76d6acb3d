package core_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"windtunnel/vrouter/built"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
)

var (
	libFuzzer = flag.Duration("libfuzzer", 0, "for how long TestLibFuzzer looks for new inputs, on all CPUs together; 0: it tries the known ones only")
	keep      = flag.Bool("keep", false, "TestLibFuzzer keeps the inputs that reach more of the core, in testdata/corpus.txt")
)

// TestLibFuzzer gives the golden frames and the inputs of testdata/corpus.txt to the fuzzer of
// testdata/fuzz.c and, with -libfuzzer, what it makes of them.
func TestLibFuzzer(t *testing.T) {
	program := buildFuzzer(t)
	built.Fuzzer{
		Program: program, Known: filepath.Join(golden.Folder(), "testdata", "corpus.txt"), Seeds: seeds(t, program+".tables"),
		Longest: 1024, Time: *libFuzzer, Keep: *keep,
	}.Run(t)
}

func buildFuzzer(t *testing.T) string {
	t.Helper()
	sources := filepath.Join(golden.Folder(), "testdata")
	return built.C(t, "-O1", "fuzzer,address,undefined", filepath.Join(sources, "fuzz.c"), filepath.Join(sources, "fuzz_traced.c"))
}

// seeds are the golden frames as the fuzzer has them; their tables are written beside it.
func seeds(t *testing.T, tables string) (inputs [][]byte) {
	t.Helper()
	cases, _ := golden.Load(t)
	flows, c := golden.LoadFlow(t)
	quotes, several := golden.LoadQuotes(t)
	c.Routes = several.Routes
	for _, q := range quotes {
		cases = append(cases, golden.Case{At: q.At, In: q.Error})
	}
	image, err := c.Image(golden.Facts(ifindex), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	flat := image.Flat()
	if err := os.WriteFile(tables, bytes.Join(flat[:], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	slots := make(map[uint32]uint32)
	for slot, vif := range image.Vifs {
		slots[vif.Ifindex] = slot
	}
	for _, k := range append(cases, flows...) {
		frame, err := hex.DecodeString(k.In)
		if err != nil {
			t.Fatal(err)
		}
		const repair = 0x80
		head := []byte{byte(slots[ifindex[k.At]]), repair}
		head = binary.LittleEndian.AppendUint16(head, uint16(k.GSO))
		inputs = append(inputs, append(binary.LittleEndian.AppendUint32(head, 0), frame...))
	}
	return inputs
}
