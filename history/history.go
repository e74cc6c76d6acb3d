// Package history reads a folder of runs for what became of a suite's figures. An index in SQLite beside the runs
// keeps what was read; the runs alone are the truth: the index is made of them whenever it is missing, broken, another
// program's or of another version, and may be deleted at any time.
package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"windtunnel/analysis"
	"windtunnel/result"
)

// mostRuns is how many folders are looked into.
const mostRuns = 100_000

// Options are what a caller knows.
type Options struct {
	Version string // of this program: figures that another one made are made anew
	Rebuild bool   // without the index that is there
}

// Found is what a folder has of a suite.
type Found struct {
	Past   []analysis.Past    // of the suite
	Left   []analysis.LeftOut // runs that could not be read, of whatever suite
	Suites []string           // that the folder has runs of, sorted
	Read   int                // runs that were read, because the index did not have them as they are
	Notice string             // why the index could not be kept; "": it was
}

// Load finds a suite's runs in the folders that dir holds. Errors are of dir itself; a run that cannot be read is named
// and left out. Several programs may do so at once.
func Load(ctx context.Context, dir, suite string, o Options) (Found, error) {
	there, err := scan(dir)
	if err != nil {
		return Found{}, err
	}
	if len(there) == 0 {
		return Found{}, fmt.Errorf("%s holds no run: name the folder that does with --runs", dir)
	}
	ix := open(ctx, dir, o)
	defer ix.close()
	read, err := ix.update(ctx, there)
	if err != nil {
		return Found{}, err
	}
	found := Found{Read: read, Notice: ix.notice}
	err = ix.suite(ctx, suite, &found)
	if err != nil && !o.Rebuild && ctx.Err() == nil { // whole by its check, and yet not to be read
		ix.close()
		o.Rebuild = true
		return Load(ctx, dir, suite, o)
	}
	if err != nil {
		return Found{}, fmt.Errorf("asking the index %s: %w", filepath.Join(dir, indexName), err)
	}
	for i := range found.Past {
		found.Past[i].Path = result.Clean(filepath.Join(dir, found.Past[i].Path))
	}
	for i := range found.Left {
		found.Left[i].Path = result.Clean(filepath.Join(dir, found.Left[i].Path))
	}
	if err := ix.keep(); err != nil {
		found.Notice = err.Error()
	}
	return found, nil
}

// state is by which a run is known to be as it was.
type state struct {
	size    int64 // bytes of the run file
	changed int64 // nanoseconds since 1970
}

// scan lists the runs of a folder by their folder's name.
func scan(dir string) (map[string]state, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: name the one that holds the runs with --runs", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for runs: %w", err)
	}
	there := map[string]state{}
	for _, e := range entries {
		if e.Name() == result.FileName {
			return nil, fmt.Errorf("%s is a run itself: name the folder that holds runs with --runs", dir)
		}
		info, err := os.Stat(filepath.Join(dir, e.Name(), result.FileName))
		if err != nil { // no run; one that is no regular file is refused by its reader, and named
			continue
		}
		if there[e.Name()] = (state{info.Size(), info.ModTime().UnixNano()}); len(there) > mostRuns {
			return nil, fmt.Errorf("%s holds more than %d runs: move some elsewhere", dir, mostRuns)
		}
	}
	return there, nil
}

// stale are the runs that known does not have as they are now, and gone those that it has and that are no more; sorted.
func stale(there, known map[string]state) (changed, gone []string) {
	for name, s := range there {
		if known[name] != s {
			changed = append(changed, name)
		}
	}
	for name := range known {
		if _, ok := there[name]; !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(gone)
	return changed, gone
}
