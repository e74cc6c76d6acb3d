package poll

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/lab"
)

// TestLayout compares what C and Go think of the shared memory.
func TestLayout(t *testing.T) {
	text, err := exec.Command(lab.PollProgram(t), "--layout").Output()
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Layout, Version, Header, Account, Totals, Vifs, Losses, Cores, Stride, Rule, Counted, Why int
		Tables                                                                                    []struct {
			Name          string
			Record, Count int
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for name, pair := range map[string][2]int{
		"layout": {c.Layout, core.Layout}, "version": {c.Version, version}, "header": {c.Header, headerSize},
		"encoded header": {c.Header, binary.Size(header{})},
		"account":        {c.Account, accountSize}, "totals": {c.Totals, totalsAt}, "vifs": {c.Vifs, vifsAt}, "losses": {c.Losses, lossesAt},
		"cores": {c.Cores, MaxCores}, "stride": {c.Stride, accountStride},
		"tables": {len(c.Tables), int(config.TableCount)},
		"rule":   {c.Rule, ruleSize}, "counted": {c.Counted, int(unsafe.Offsetof(ruleRecord{}.Packets))}, "why": {c.Why, int(unsafe.Offsetof(ruleRecord{}.Why))},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: C has %d, Go %d", name, pair[0], pair[1])
		}
	}
	sizes := config.TableBytes(0, 0)
	for i, table := range c.Tables {
		if table.Record != config.RecordSize[i] || table.Record*table.Count != sizes[i] {
			t.Errorf("table %d, %s: C has %d records of %d bytes; Go has records of %d, %d bytes in all", i, table.Name, table.Count, table.Record, config.RecordSize[i], sizes[i])
		}
	}
}

// TestSharedLayout compares what they think of the table of flows, and of traces.
func TestSharedLayout(t *testing.T) {
	text, err := exec.Command(lab.PollProgram(t), "--layout").Output()
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Shared []struct {
			Name          string
			Record, Count int
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	m, err := makeImage(size{16, 16, 64}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	var h header
	if _, err := binary.Decode(m.memory, binary.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	if len(c.Shared) != sharedTables {
		t.Fatalf("C has %d shared tables, Go %d", len(c.Shared), sharedTables)
	}
	for i, table := range c.Shared {
		if place := h.Shared[i]; uint64(table.Record) != place.Record || uint64(table.Record*table.Count) > place.Bytes || len(m.shared[i]) != int(place.Bytes) {
			t.Errorf("%s: C has %d records of %d bytes, Go %+v", table.Name, table.Count, table.Record, place)
		}
	}
}

// TestWrongTables starts the process with memory that is not what it expects: it must say what is
// wrong, and end.
func TestWrongTables(t *testing.T) {
	program := lab.PollProgram(t)
	word := func(at int, value uint64) func([]byte) {
		return func(memory []byte) { binary.LittleEndian.PutUint64(memory[at:], value) }
	}
	const firstTable, flowHead, flowPages = 48, 48 + int(config.TableCount)*24, 48 + int(config.TableCount+1)*24
	for _, c := range []struct {
		name  string
		spoil func([]byte)
		says  string
	}{
		{"mark", word(0, 1), "mark"},
		{"layout", word(8, version<<32|(core.Layout+1)), "layout"},
		{"version", word(8, (version+1)<<32|core.Layout), "version"},
		{"length", word(16, 4096), "length"},
		{"account outside", word(24, 1<<40), "account offset"},
		{"account size", word(32, 64), "account size"},
		{"accounts and tables", word(40, 1|99<<32), "number"},
		{"too many accounts", word(40, uint64(config.TableCount)<<32|(MaxCores+1)), "number of accounts"},
		{"more accounts than memory", word(40, uint64(config.TableCount)<<32|2), "account offset"},
		{"no accounts", word(40, uint64(config.TableCount)<<32), "number of accounts"},
		{"table outside", word(firstTable, 1<<40), "node"},
		{"table that wraps around", word(firstTable, 1<<64-64), "node"},
		{"table not aligned", word(firstTable, 8), "node"},
		{"table too short", word(firstTable+8, 0), "node"},
		{"record of another size", word(firstTable+16, 8), "node"},
		{"record of no size", word(firstTable+16, 0), "node"},
		{"head of flows outside", word(flowHead, 1<<40), "flow_head"},
		{"pages of flows that wrap around", word(flowPages, 1<<64-64), "flow_pages"},
		{"entries of another size", word(flowPages+16, 64), "flow_pages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := makeImage(size{16, 16, 64}, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer m.close()
			c.spoil(m.memory)
			run := exec.Command(program, "3", "4", "0", "0", "0")
			run.ExtraFiles = []*os.File{m.file}
			text, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(text), "the tables' "+c.says+" is") {
				t.Errorf("%v, %s", err, text)
			}
		})
	}
}

// TestByHand: what is not started by vrouter says so.
func TestByHand(t *testing.T) {
	program := lab.PollProgram(t)
	for _, args := range [][]string{nil, {"--help"}, {"3"}, {"3", "4", "0"}, {"x", "4", "0", "0"}, {"3", "-1", "0", "0"}, {"3", "4", "99999999999", "0"}, {"3", "4", "0", "-1"}} {
		text, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(text), "vrouter run --mode poll") {
			t.Errorf("%q: %v, %s", args, err, text)
		}
	}
	text, err := exec.Command(program, "0", "0", "0", "0", "0").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "holds no tables") {
		t.Errorf("without tables: %v, %s", err, text)
	}
}
