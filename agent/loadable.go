//go:build linux

package agent

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// listWithin bounds how long the loader may take to say what a program needs.
	listWithin = 5 * time.Second
	// maxInterpreter bounds its name, in bytes.
	maxInterpreter = 4096
)

// unloadable says which shared libraries this machine lacks of those that a program needs, "" if none, or if it needs none. Those
// of ours that are built on DPDK come from a machine that has it, and go to others. The loader tells without starting the
// program (ld.so(8), --list).
func unloadable(ctx context.Context, program string) string {
	loader, err := interpreter(program)
	if err != nil || loader == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	list := exec.CommandContext(ctx, loader, "--list", program)
	var said, wrong bytes.Buffer
	list.Stdout, list.Stderr, list.Env = &said, &wrong, append(os.Environ(), "LC_ALL=C")
	if err := list.Run(); said.Len() == 0 {
		return fmt.Sprintf("the loader %s that it was built for does not load it here: %v: %.300s", loader, err, bytes.TrimSpace(wrong.Bytes()))
	}
	return lacking(said.String())
}

// lacking reads the loader's list, a library a line, of which those that are not there say so.
func lacking(list string) string {
	var all []string
	for line := range strings.Lines(list) {
		library, where, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if strings.HasPrefix(where, "not found") {
			all = append(all, library)
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case strings.HasPrefix(all[0], "librte_"):
		return fmt.Sprintf("it was built with DPDK, and this host has not the same (%s and %d more libraries): apt-get install dpdk, of the release where it was built", all[0], len(all)-1)
	}
	return fmt.Sprintf("this host lacks libraries that it was built with: %s", strings.Join(all, ", "))
}

// interpreter is the loader that a program names, "" for one that needs none.
func interpreter(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(io.LimitReader(part.Open(), maxInterpreter))
		return string(bytes.TrimRight(name, "\x00")), err
	}
	return "", nil
}

// brought tells whether a program is beside this one, as those are that come with it.
func brought(program string) bool {
	own, err := os.Executable()
	return err == nil && filepath.Dir(own) == filepath.Dir(program)
}
