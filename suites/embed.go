// Package suites holds the suites that Windtunnel ships: one YAML file each, and
// each one question. It knows them as text only; package scenario reads them.
package suites

import (
	"embed"
	"fmt"
	"strings"
)

const ending = ".yaml"

//go:embed *.yaml
var files embed.FS

// List returns the names of the shipped suites, sorted.
func List() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can always be read
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ending))
	}
	return names
}

// Text returns the shipped suite of that name. The error lists what there is.
func Text(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ending)
	if err != nil {
		return nil, fmt.Errorf("no suite %q is shipped (there are: %s)", name, strings.Join(List(), ", "))
	}
	return text, nil
}
