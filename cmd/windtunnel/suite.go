package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

func suiteText(name string) (text []byte, file string, err error) {
	if text, err := suites.Text(name); err == nil {
		return text, name + ".yaml", nil
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		shipped := suites.List()
		near, _ := result.Nearest(name, shipped)
		return nil, "", fmt.Errorf("there is no shipped suite and no file %q; the nearest suite is %q (shipped: %s)",
			name, near, strings.Join(shipped, ", "))
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the suite: %w", err)
	}
	if info.IsDir() {
		return nil, "", fmt.Errorf("%s is no suite but a folder: name the file in it", name)
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
