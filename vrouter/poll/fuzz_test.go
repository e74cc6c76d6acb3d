package poll

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"windtunnel/vrouter/built"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

var (
	libFuzzer = flag.Duration("libfuzzer", 0, "for how long TestLibFuzzer looks for new inputs, on all CPUs together; 0: it tries the known ones only")
	keep      = flag.Bool("keep", false, "TestLibFuzzer keeps the inputs that reach more of the process's code, in testdata/corpus.txt")
)

// TestLibFuzzer gives the golden frames and the inputs of testdata/corpus.txt to the fuzzer of
// testdata/fuzz.c and, with -libfuzzer, what it makes of them.
func TestLibFuzzer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fuzz") // its image lies beside it
	if err := os.Symlink(lab.PollFuzzer(t), program); err != nil {
		t.Fatal(err)
	}
	built.Fuzzer{
		Program: program, Known: filepath.Join("testdata", "corpus.txt"), Seeds: seeds(t, program+".image"),
		Longest: 4096, Time: *libFuzzer, Keep: *keep,
	}.Run(t)
}

// seeds are the golden frames as the fuzzer has them; their image is written beside it.
func seeds(t *testing.T, file string) (inputs [][]byte) {
	t.Helper()
	cases, _ := golden.Load(t)
	flows, c := golden.LoadFlow(t)
	ifindex := map[string]uint32{"fabric": 1}
	for i, p := range c.Ports {
		ifindex[p.Interface] = uint32(2 + i)
	}
	const fewFlows = 100
	m, err := makeImage(size{c.Limits.Blocks(), c.Limits.HostBuckets(), fewFlows}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if _, err := config.OpenFlows(m.shared[0], m.shared[1], m.shared[2], fewFlows); err != nil {
		t.Fatal(err)
	}
	clear((*core.FlowHead)(unsafe.Pointer(&m.shared[0][0])).Secret[:]) // so that an input always does the same
	image, err := c.Image(golden.Facts(ifindex), config.Read(m.tables))
	if err != nil {
		t.Fatal(err)
	}
	plan := config.Diff(config.Read(m.tables), image)
	for _, err := range []error{m.tables.Write(plan.Prepare), m.tables.Switch(plan.Switch), os.WriteFile(file, m.memory, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	places := places(image)
	for _, k := range append(cases, flows...) {
		frame, err := hex.DecodeString(k.In)
		if err != nil {
			t.Fatal(err)
		}
		const anyRoom, repair, unfinished, headroom, aggregate = 255, 0x10, 0x20, 128, 1 << 16 // RTE_MBUF_F_RX_LRO
		for _, flags := range []byte{repair, repair | unfinished} {
			input := []byte{anyRoom, 0, places[ifindex[k.At]], flags, headroom, 0}
			input = binary.LittleEndian.AppendUint16(input, uint16(len(frame)))
			input = binary.LittleEndian.AppendUint32(append(input, 0, 0), aggregate*min(k.GSO, 1))
			input = binary.LittleEndian.AppendUint16(input, uint16(k.GSO))
			inputs = append(inputs, append(input, frame...))
		}
	}
	return inputs
}

// places are the ports' in the fuzzer's list, by interface: the fabric, and then the vifs in their order.
func places(image config.Image) map[uint32]byte {
	places := map[uint32]byte{}
	place := byte(1)
	for slot := range uint32(len(image.Vifs) + 1) {
		if vif, ok := image.Vifs[slot]; ok {
			places[vif.Ifindex] = place
			place++
		}
	}
	return places
}
