package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/suites"
)

// maxSuite bounds a suite's file, in bytes; the parser has the same bound.
const maxSuite = 1 << 20

// loadSuite reads a shipped suite by its name, or a file.
func loadSuite(name string) (scenario.Spec, error) {
	text, file, err := suiteText(name)
	if err != nil {
		return scenario.Spec{}, refused(err)
	}
	spec, err := scenario.Parse(text, file, run.Vocabulary())
	if err != nil {
		return scenario.Spec{}, refused(err)
	}
	return spec, nil
}

// noSuite says what there is in place of a name that is neither a shipped suite's nor a file's.
func noSuite(name string) error {
	if strings.ContainsRune(name, filepath.Separator) || filepath.Ext(name) != "" {
		return fmt.Errorf("there is no file %q; `windtunnel list` has the suites that need none", result.Clip(name))
	}
	shipped := suites.List()
	meant := ""
	if near, ok := result.Nearest(name, shipped); ok {
		meant = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("there is no shipped suite and no file %q%s (shipped: %s; `windtunnel list` says what each asks)",
		result.Clip(name), meant, strings.Join(shipped, ", "))
}

func suiteText(name string) (text []byte, file string, err error) {
	if text, err := suites.Text(name); err == nil {
		return text, name + ".yaml", nil
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", noSuite(name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the suite: %w", err)
	}
	if info.IsDir() {
		if isRun(name) {
			return nil, "", fmt.Errorf("%s is a run and no suite: `windtunnel report %s` prints what it measured", name, name)
		}
		return nil, "", fmt.Errorf("%s is no suite but a folder: name a suite's file, or a shipped suite (`windtunnel list` has them)", name)
	}
	suite, err := os.Open(name)
	if err != nil {
		return nil, "", fmt.Errorf("reading the suite: %w", err)
	}
	defer suite.Close()
	text, err = io.ReadAll(io.LimitReader(suite, maxSuite+1)) // a device or a pipe does not tell how long it is
	if err != nil {
		return nil, "", fmt.Errorf("reading the suite: %w", err)
	}
	if len(text) > maxSuite {
		return nil, "", fmt.Errorf("%s is no suite: a suite is a file of at most %d bytes", name, maxSuite)
	}
	return text, name, nil
}
