package result

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestRecentIsBounded in runs and in bytes, of the last ones first; what does not fit leaves room for what does.
func TestRecentIsBounded(t *testing.T) {
	dir := t.TempDir()
	size := map[string]int{}
	for i, padding := range []int{10, 10, 5000, 10, 10} {
		name := fmt.Sprint("run", i)
		text := fmt.Sprintf(`{"record":"run","format":1,"suite":"s","run":%q,"asks":"%0*d"}`+"\n", name, padding, 0)
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, FileName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		size[name] = len(text)
	}
	for _, c := range []struct {
		most int
		room int64
		want string
	}{
		{10, 1 << 20, "run4 run3 run2 run1 run0"},
		{2, 1 << 20, "run4 run3"},
		{10, int64(3 * size["run0"]), "run4 run3 run1"},
		{10, int64(size["run0"] - 1), ""},
	} {
		files, err := recent(dir, c.most, c.room)
		got := ""
		for i, f := range files {
			if i > 0 {
				got += " "
			}
			got += f.Run.ID
		}
		if err != nil || got != c.want {
			t.Errorf("at most %d runs of %d bytes: %q, want %q; %v", c.most, c.room, got, c.want, err)
		}
	}
	if files, err := Recent(filepath.Join(dir, "nowhere"), 5); err != nil || len(files) > 0 {
		t.Errorf("%d runs of no folder, %v", len(files), err)
	}
}
