package kernel

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// A limit is a row of README.md's table.
type limit struct {
	what, most string
	memory     string                    // as the maps' sizes make it
	fill       func(n int) config.Config // so many are there; nil if packets meet the limit, not configurations
	room       int                       // how many that may be
}

// limitRows gives the rows, with the memory of the maps that are loaded.
func limitRows(maps map[string]*ebpf.MapSpec) []limit {
	size := func(names ...string) string {
		total := 0
		for _, name := range names {
			total += mapBytes(maps[name])
		}
		return grouped((total+1023)/1024) + " KiB"
	}
	each := func(name string, count int) int { return mapBytes(maps[name]) / count }
	spare := mapBytes(maps[vrMapVrBlocks]) - 2*core.SizeBlock*config.DefaultRoutes
	counters := fmt.Sprintf("%d bytes a CPU and reason; %s a CPU; %d KiB a reason", 2*binary.Size(core.Count{}), size(vrMapVrVifCounts),
		2*binary.Size(core.Count{})*core.MaxVifs/1024)
	return []limit{
		{"ports", grouped(core.MaxVifs - 1), size(vrMapVrVifs, vrMapVrPorts, vrMapVrPortHints), portsOf, core.MaxVifs - 1},
		{"networks", grouped(core.MaxVRFs - 1), size(vrMapVrVrfs, vrMapVrNodes), fillNetworks, core.MaxVRFs - 1},
		{"routes to other nodes", grouped(config.MaxRoutes) + ", as `limits.routes` says",
			fmt.Sprintf("%d bytes each, %.1f MiB for the others; %s for the hosts of 65,536", 2*core.SizeBlock, float64(spare)/(1<<20), size(vrMapVrHostBuckets)), fillRoutes, 1000},
		{"nexthops: one a port, and one a different way", grouped(core.MaxNexthops - 1), size(vrMapVrNhs), fillNexthops, core.MaxNexthops - 1},
		{"different groups of ways", grouped(core.MaxGroups - 1), size(vrMapVrGroups), fillGroups, core.MaxGroups - 1},
		{"ways in a group", grouped(core.GroupMembers), "", fillMembers, core.GroupMembers},
		{"labels of this node", "16 to " + grouped(core.MaxLabels-1), size(vrMapVrLabels), fillOwnLabel, core.MaxLabels - 1},
		{"labels of other nodes", "16 to 1,048,575", "", fillFarLabel, 1<<20 - 1},
		{fmt.Sprintf("VNIs in one of the %d buckets of their table", core.VNIBuckets), grouped(core.VNIWays), size(vrMapVrVnis), fillVNIs, core.VNIWays},
		{"MAC addresses of bridged networks, with a gateway each", grouped(config.MaxMACs), size(vrMapVrMacs), fillMACs, config.MaxMACs},
		{"ports and nodes of a bridged network, who get what is for all", grouped(core.FloodTargets), size(vrMapVrFloods), fillTargets, core.FloodTargets},
		{"flows", grouped(config.MaxFlows) + ", as `limits.flows` says", fmt.Sprintf("%d bytes each", each(vrMapVrFlows, config.DefaultFlows)), nil, 0},
		{"flows of a network", "its `flows`, or what the others' reserve leaves", size(vrMapVrFlowCounts), nil, 0},
		{"policies", grouped(core.MaxPolicies - 1), size(vrMapVrPolicies), fillPolicies, core.MaxPolicies - 1},
		{"rules of a policy", grouped(core.MaxRules), "", fillRules, core.MaxRules},
		{"prefixes in the fabric's `peers`", "256", "", fillPeers, 256},
		{"counters of the node, of its ports, and of each port's losses", "", counters, nil, 0},
	}
}

// TestLimits: README.md's table has the limits and the memory that the code has; so many are taken, one more is refused with
// the words that stand there, or lost by the name.
func TestLimits(t *testing.T) {
	spec, err := loadVr()
	if err != nil {
		t.Fatal(err)
	}
	stated := readLimits(t)
	rows := append(limitRows(spec.Maps), extensionsRow(t))
	for _, row := range rows {
		t.Run(row.what, func(t *testing.T) { row.check(t, stated[row.what]) })
	}
	if len(stated) != len(rows) {
		t.Errorf("README.md states %d limits, %d are tested", len(stated), len(rows))
	}
}

var extensionLines = regexp.MustCompile(`(?s)#define VR_IP6_EXTENSIONS (\d+)\n#define VR_IP6_EXTENSION_BYTES (\d+)\n`)

// extensionsRow is of vr_ip6.h, whose figures Go has no use for.
func extensionsRow(t *testing.T) limit {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Folder(), "vr_ip6.h"))
	if err != nil {
		t.Fatal(err)
	}
	figures := extensionLines.FindSubmatch(text)
	if figures == nil {
		t.Fatal("vr_ip6.h does not say how far extension headers are followed")
	}
	return limit{what: fmt.Sprintf("IPv6 extension headers that are followed, of %s bytes in all", figures[2]), most: string(figures[1])}
}

func (l limit) check(t *testing.T, stated []string) {
	if stated == nil {
		t.Fatalf("README.md has no row %q", l.what)
	}
	if stated[0] != l.most || stated[1] != l.memory {
		t.Errorf("README.md says %q and %q, not %q and %q", stated[0], stated[1], l.most, l.memory)
	}
	what, words, _ := strings.Cut(stated[2], ": ")
	words = strings.Trim(words, "`")
	if what == "dropped" {
		for _, reason := range core.DropReasons {
			if reason.Name == words {
				return
			}
		}
		t.Fatalf("there is no drop reason %q", words)
	}
	if l.fill == nil {
		return
	}
	if err := filled(l.fill(l.room)); err != nil {
		t.Errorf("%d are refused: %v", l.room, err)
	}
	if err := filled(l.fill(l.room + 1)); err == nil || what != "refused" || !strings.Contains(err.Error(), words) {
		t.Errorf("of %d, README.md says %q; the error is %v", l.room+1, words, err)
	}
}

// filled makes the tables of a configuration.
func filled(c config.Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	facts := config.Facts{FabricIfindex: 1, FabricMTU: 1500, FabricMAC: config.MAC{2, 0, 0, 0, 0, 1}, Interfaces: make(map[string]config.Interface)}
	for i, p := range c.Ports {
		facts.Interfaces[p.Interface] = config.Interface{Ifindex: uint32(2 + i), MTU: 1500}
	}
	_, err := c.Image(facts, config.Image{})
	return err
}

var limitRow = regexp.MustCompile(`(?m)^\| (.+) \| (.*?) ?\| (.*?) ?\| (.*?) ?\|$`)

// readLimits gives the table's columns by the first.
func readLimits(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Folder(), "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## How much there is room for\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, table, _ := strings.Cut(section, "|---|---|---|---|\n")
	stated := make(map[string][]string)
	for _, row := range limitRow.FindAllStringSubmatch(table, -1) {
		stated[row[1]] = row[2:]
	}
	if !found || len(stated) == 0 {
		t.Fatal("README.md has no table of limits")
	}
	return stated
}

// grouped writes a number as README.md does.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// mapBytes is what a map holds; one with an account a CPU holds it for each. A hash has an element of the kernel's around each
// key and value, and buckets (struct htab_elem and struct bucket, kernel/bpf/hashtab.c).
func mapBytes(m *ebpf.MapSpec) int {
	const element, bucket = 48, 16
	key, value, count := int(m.KeySize+7)&^7, int(m.ValueSize+7)&^7, int(m.MaxEntries)
	if m.Type == ebpf.Hash {
		return count*(element+key+value) + bucket<<bits.Len(uint(count-1))
	}
	return count * value
}

// TestMemory: what the kernel says that the maps hold is what their sizes make, and README.md says the sum.
func TestMemory(t *testing.T) {
	lab.NeedRoot(t)
	d, err := Load(Options{Name: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	spec, err := loadVr()
	if err != nil {
		t.Fatal(err)
	}
	all, perCPU := 0, 0
	tells := lab.IsLinux(t, 6, 4) // before, the kernel told what it took a map to need, not what it holds: commit 90a5527d7686
	for name, m := range d.live() {
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		want := mapBytes(spec.Maps[name])
		if perCPU += want; m.Type() != ebpf.PerCPUArray {
			all, perCPU = all+want, perCPU-want
		} else {
			want *= ebpf.MustPossibleCPU()
		}
		const page = 4096
		if got, ok := info.Memlock(); ok && tells && (int(got) < want || int(got) > want+want/50+3*page) {
			t.Errorf("%s holds %d bytes, not %d", name, got, want)
		}
	}
	text, err := os.ReadFile(filepath.Join(golden.Folder(), "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("that is %d MiB, and %.1f MiB a CPU", (all+1<<19)>>20, float64(perCPU)/(1<<20))
	if !strings.Contains(string(text), sum) {
		t.Errorf("README.md does not say that %q", sum)
	}
}
