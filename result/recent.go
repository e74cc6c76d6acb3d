package result

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// mostRecent bounds what the files of all runs together may have that are read only to look back, in bytes.
const mostRecent = 64 << 20

// Recent reads the runs in a folder of runs, those with the last names first, which begin with their time: at most so many, and
// of those only what fits into 64 MiB together. What is no run, or cannot be read, is passed over. A folder that does not
// exist has none.
func Recent(dir string, most int) ([]File, error) { return recent(dir, most, mostRecent) }

func recent(dir string, most int, room int64) ([]File, error) {
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
		if len(files) == most {
			break
		}
		path := filepath.Join(dir, e.Name(), FileName)
		info, err := os.Stat(path)
		if err != nil || info.Size() > room {
			continue
		}
		room -= info.Size() // also of one that cannot be read, which is found out by reading it
		if f, err := Read(path); err == nil {
			files = append(files, f)
		}
	}
	return files, nil
}
