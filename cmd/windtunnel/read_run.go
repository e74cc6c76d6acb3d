package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"windtunnel/result"
	"windtunnel/suites"
)

// readRun reads a run that somebody named: one that cannot be read is refused, whatever it is wanted for.
func readRun(name string) (result.File, error) {
	file, err := result.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return file, refused(noRun(name))
	}
	if err != nil {
		return file, refused(err)
	}
	return file, nil
}

// noRun says what a name is, where it is no run's, and what to name.
func noRun(name string) error {
	if slices.Contains(suites.List(), name) {
		return fmt.Errorf("%s is a suite and no run: name the folder of a run of it%s", name, latest("runs", "-"+name))
	}
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("there is no run %q: name a run's folder%s", result.Clip(name), latest("runs", ""))
	}
	return fmt.Errorf("the folder %q is no run's: it has no %s; name a run's folder%s", result.Clip(name), result.FileName, latest(name, ""))
}

// latest names the last run of a folder of runs, those whose names end so; nothing where there is none.
func latest(dir, ending string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "*"+ending, result.FileName))
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(", as in %s, the last one in %s", result.Clean(filepath.Dir(found[len(found)-1])), dir) // names begin with their time
}
