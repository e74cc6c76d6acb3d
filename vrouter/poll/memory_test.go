package poll

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChooseMemory: huge pages are taken where enough are free, and asked for in vain are refused.
func TestChooseMemory(t *testing.T) {
	for _, c := range []struct {
		wish           Memory
		free, reserved string
		over, surplus  string
		want           Memory
		says           string
	}{
		{"", "96", "0", "0", "0", MemoryOrdinary, ""},
		{MemoryOrdinary, "96", "0", "0", "0", MemoryOrdinary, ""},
		{MemoryHuge, "96", "0", "0", "0", MemoryHuge, ""},
		{MemoryAuto, "100", "4", "0", "0", MemoryHuge, ""},
		{MemoryAuto, "100", "5", "0", "0", MemoryOrdinary, ""},
		{MemoryAuto, "", "", "", "", MemoryOrdinary, ""},
		{MemoryHuge, "100", "5", "0", "0", "", "95 huge pages of 2 MiB are free, and 96 are needed; `echo 191 > /proc/sys/vm/nr_hugepages`"},
		{MemoryHuge, "10", "0", "300", "214", MemoryHuge, ""},
		{MemoryHuge, "10", "0", "300", "215", "", "10 huge pages of 2 MiB are free"},
		{MemoryAuto, "10", "0", "300", "0", MemoryOrdinary, ""}, // they may not be had
		{MemoryHuge, "", "", "", "", "", "looking for huge pages"},
	} {
		folder := t.TempDir()
		for name, text := range map[string]string{"free_hugepages": c.free, "resv_hugepages": c.reserved, "nr_overcommit_hugepages": c.over, "surplus_hugepages": c.surplus} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := chooseMemory(folder, c.wish)
		if got != c.want || c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
