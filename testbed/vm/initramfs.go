//go:build linux

package vm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"windtunnel/testbed"
)

// Init is where a guest has this program, which is its first process, and Modules the folder of those that it
// loads, in the order of their names.
const (
	Init    = "/windtunnel"
	Modules = "/modules"
	// ContainerModules is the folder of those that a guest with a container in it loads besides.
	ContainerModules = "/modules-container"
)

// guestModules are what a guest's kernel has to have, built in or not: its bus, its interfaces and the port by
// which its worker speaks.
var guestModules = []string{"virtio_pci", "virtio_net", "virtio_console"}

// usefulModules are those that it has if the kernel does: sinks of raw frames count by programs at tc.
var usefulModules = []string{"sch_ingress", "cls_bpf"}

// containerModules are what a guest's kernel has to have for a container in it (testbed.GuestContainer).
var containerModules = []string{"veth", "bridge", "nft_chain_nat", "nft_nat", "nft_masq"}

// Files are those of guests: an initramfs for each kernel, made when it is first asked for.
type Files struct {
	program string
	dir     string
	mu      sync.Mutex
}

// NewFiles returns the files of guests that run program, a file that is statically linked. They are made
// in dir.
func NewFiles(program, dir string) *Files { return &Files{program: program, dir: dir} }

// of returns the file for a kernel.
func (f *Files) of(k Kernel) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := filepath.Join(f.dir, "initramfs-"+k.Release)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := testbed.RunsAlone(f.program); err != nil {
		return "", err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", fmt.Errorf("making a folder for the guests' files: %w", err)
	}
	half := file + ".part"
	if err := initramfs(half, f.program, k); err != nil {
		return "", err
	}
	return file, os.Rename(half, file)
}

// initramfs makes a guest's files: this program and modules, and the folders that it mounts file systems on.
func initramfs(file, program string, k Kernel) (err error) {
	modules, err := k.files(guestModules)
	if err != nil {
		return err
	}
	for _, useful := range usefulModules {
		if all, err := k.files([]string{useful}); err == nil {
			modules = append(modules, slices.DeleteFunc(all, func(m string) bool { return slices.Contains(modules, m) })...)
		}
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("making the guest's files: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	a := &archive{to: out}
	for _, folder := range []string{"dev", "proc", "sys", "run", "tmp", Modules, ContainerModules} {
		a.folder(strings.TrimPrefix(folder, "/"))
	}
	a.node("dev/console", device{5, 1}) // what its first process says goes there, from the beginning
	if err := a.copy(strings.TrimPrefix(Init, "/"), program); err != nil {
		return err
	}
	if err := a.modules(k, Modules, modules); err != nil {
		return err
	}
	inContainer, err := k.files(containerModules)
	if err != nil {
		inContainer = nil // such guests are refused (Missing)
	}
	inContainer = slices.DeleteFunc(inContainer, func(m string) bool { return slices.Contains(modules, m) })
	if err := a.modules(k, ContainerModules, inContainer); err != nil {
		return err
	}
	if err := a.close(); err != nil {
		return fmt.Errorf("writing the guest's files %s: %w", filepath.Base(file), err)
	}
	return nil
}

// modules adds some to a folder, in the order in which they are loaded.
func (a *archive) modules(k Kernel, folder string, modules []string) error {
	for i, module := range modules {
		text, err := k.module(module)
		if err != nil {
			return fmt.Errorf("reading a module of the guest's kernel: %w", err)
		}
		a.file(fmt.Sprintf("%s/%03d-%s.ko", strings.TrimPrefix(folder, "/"), i, moduleName(module)), int64(len(text)), bytes.NewReader(text))
	}
	return nil
}

// copy adds a file of this machine's.
func (a *archive) copy(name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("reading what the guest runs: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("reading what the guest runs: %w", err)
	}
	a.file(name, info.Size(), file)
	return nil
}
