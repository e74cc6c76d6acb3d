package result

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// mostRecent bounds what one run's file may have to be read among others, in bytes.
const mostRecent = 64 << 20

// Recent reads the runs in a folder of runs, those with the last names first, which begin with their time: at most so many. What
// is no run, or cannot be read, is passed over. A folder that does not exist has none.
func Recent(dir string, most int) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the runs in %s: %w", dir, err)
	}
	slices.Reverse(entries) // os.ReadDir sorts by name
	var files []File
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), FileName)
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostRecent {
			continue
		}
		if f, err := Read(path); err == nil {
			files = append(files, f)
		}
		if len(files) == most {
			break
		}
	}
	return files, nil
}
