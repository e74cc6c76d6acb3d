// Package ours finds Windtunnel's own programs for the machines that it brings them to.
package ours

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Program is the one that runs now, whatever its file is called.
const Program = "windtunnel"

// Brought is how the folders begin that programs are brought in to places and to hosts that are no Linux.
const Brought = ".windtunnel-"

// System is Go's name for what uname(1) calls a system, and the name itself where we have no program for it.
func System(name string) string {
	switch name {
	case "Linux":
		return "linux"
	case "Darwin":
		return "darwin"
	}
	return name
}

// UnixOnWindows tells of what uname(1) calls a system that it is one of the shells of Unix's on Windows.
func UnixOnWindows(name string) bool {
	return strings.HasPrefix(name, "MINGW") || strings.HasPrefix(name, "MSYS") || strings.HasPrefix(name, "CYGWIN")
}

// Architecture is Go's name for what uname(1) calls a machine, or Windows does (PROCESSOR_ARCHITECTURE), and the name itself where
// we have no program for it.
func Architecture(machine string) string {
	switch machine {
	case "x86_64", "AMD64":
		return "amd64"
	case "aarch64", "arm64", "ARM64":
		return "arm64"
	}
	return machine
}

// GuestFolder is where a kernel for virtual machines is, beside the program that boots them (testbed/vm looks there).
const GuestFolder = "guest"

// Guest returns the folder of a kernel for virtual machines of an architecture, as `make guest` makes it beside self: guest, or
// guest-linux-ARCHITECTURE for another one than ours. "" is none: those may have kernels of their own.
func Guest(self, architecture string) string {
	names := []string{GuestFolder + "-linux-" + filepath.Base(architecture)}
	if architecture == runtime.GOARCH {
		names = append([]string{GuestFolder}, names...)
	}
	for _, name := range names {
		folder, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(self), name))
		if err != nil {
			continue
		}
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
	}
	return ""
}

// Find returns the file of one of our programs for a system and an architecture, by Go's names: self is the file of the one
// that runs, and beside it stand the others, NAME or, as `make dist` calls them, NAME-SYSTEM-ARCHITECTURE, on Windows with .exe.
func Find(self, name, system, architecture string) (file string, err error) {
	folder := filepath.Dir(self)
	made := filepath.Join(folder, name+"-"+filepath.Base(system)+"-"+filepath.Base(architecture))
	if system == "windows" {
		made += ".exe"
	}
	files := []string{made}
	if architecture == runtime.GOARCH && system == runtime.GOOS {
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
	return "", fmt.Errorf("it needs %s for %.40s/%.40s, and there is none at %s: build it with `make dist`, and put it there", name, system, architecture, made)
}
