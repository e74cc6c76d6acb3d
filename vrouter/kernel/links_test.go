package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cilium/ebpf/link"
)

// TestRemoveStale: of the pins in the folder only those of this hook's links go that nobody took over; a
// folder that cannot be read is no folder without pins, for programs would stay attached.
func TestRemoveStale(t *testing.T) {
	folder := t.TempDir()
	held := holdLinks(hookXDP, folder)
	held.byIfindex[3] = link.Link(&link.RawLink{})
	for _, name := range []string{"xdp-3", "xdp-4", "link-4", "xdp-x", "vr_tables"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := held.removeStale(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"link-4", "vr_tables", "xdp-3", "xdp-x"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, not %v", left, want)
	}
	held.pins = filepath.Join(folder, "nowhere")
	if err := held.removeStale(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	held.pins = "" // it keeps none
	if err := held.removeStale(); err != nil {
		t.Error(err)
	}
}
