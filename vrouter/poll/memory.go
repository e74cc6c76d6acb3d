package poll

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory is what kind of memory packets are in.
type Memory string

const (
	// MemoryOrdinary is that of any process. The default: nothing has to be reserved for it.
	MemoryOrdinary Memory = "ordinary"
	// MemoryHuge is huge pages, or the process is not started.
	MemoryHuge Memory = "huge"
	// MemoryAuto is huge pages where enough of them are free, else ordinary.
	MemoryAuto Memory = "auto"
)

// Memories are all of them.
var Memories = []string{string(MemoryOrdinary), string(MemoryHuge), string(MemoryAuto)}

const (
	// hugeMemory is what EAL gets of huge pages at the start, in MiB; of ordinary ones it gets more, since
	// it uses them one by one, but where a device of PCI pins them. Ports by AF_XDP take more of either when they come.
	hugeMemory = 192
	hugePages  = "/sys/kernel/mm/hugepages/hugepages-2048kB"
	hugePage   = 2 // MiB
)

// chooseMemory is ordinary or huge.
func chooseMemory(folder string, wish Memory) (Memory, error) {
	if wish == "" || wish == MemoryOrdinary {
		return MemoryOrdinary, nil
	}
	const need = hugeMemory / hugePage
	free, more, err := freePages(folder)
	switch {
	case err == nil && (free >= need || wish == MemoryHuge && free+more >= need):
		return MemoryHuge, nil
	case wish == MemoryAuto:
		return MemoryOrdinary, nil
	case err != nil:
		return "", fmt.Errorf("looking for huge pages: %w; without them, --poll-memory ordinary", err)
	}
	return "", fmt.Errorf("%d huge pages of 2 MiB are free, and %d are needed; `echo %d > /proc/sys/vm/nr_hugepages` reserves them; or take --poll-memory auto", free, need, free+need)
}

// freePages are those that nobody has or has a claim to, and those that the kernel may make when they are asked
// for, if it finds memory for them (nr_overcommit_hugepages in Documentation/admin-guide/mm/hugetlbpage.rst).
func freePages(folder string) (free, more int, err error) {
	counts := map[string]int{}
	for _, name := range []string{"free_hugepages", "resv_hugepages", "nr_overcommit_hugepages", "surplus_hugepages"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			counts[name], err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if err != nil {
			return 0, 0, fmt.Errorf("reading how many there are: %w", err)
		}
	}
	return counts["free_hugepages"] - counts["resv_hugepages"], max(0, counts["nr_overcommit_hugepages"]-counts["surplus_hugepages"]), nil
}
