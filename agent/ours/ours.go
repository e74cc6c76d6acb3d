// Package ours finds Windtunnel's own programs for the machines that it brings them to.
package ours

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Program is the one that runs now, whatever its file is called.
const Program = "windtunnel"

// Architecture is Go's name for what uname(1) calls a machine of Linux, and the name itself where Go has none.
func Architecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return machine
}

// Find returns the file of one of our programs for Linux on an architecture, by Go's name: self is the file of the one
// that runs, and beside it stand the others, NAME or, as `make dist` calls them, NAME-linux-ARCHITECTURE.
func Find(self, name, architecture string) (file string, err error) {
	folder := filepath.Dir(self)
	made := filepath.Join(folder, name+"-linux-"+filepath.Base(architecture))
	files := []string{made}
	if architecture == runtime.GOARCH && runtime.GOOS == "linux" {
		if name == Program {
			return self, nil
		}
		files = []string{filepath.Join(folder, name), made}
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	return "", fmt.Errorf("it needs %s for linux/%.40s, and there is none at %s: build it with `make dist`, and put it there", name, architecture, made)
}
