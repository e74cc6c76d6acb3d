//go:build linux

package vm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kernel is one for guests, with its modules: what a distribution's package of a kernel holds.
type Kernel struct {
	Release string
	Image   string // file
	modules string // folder
	made    string // the folder of `make guest` that it is from; "": it is installed
}

// guestFolder is where `make guest` unpacks a package of a kernel, beside this program.
const guestFolder = "guest"

// errNoKernel says what to do.
var errNoKernel = errors.New("no kernel for virtual machines: build one's folder with `make guest`, or apt-get install linux-image-cloud-amd64")

// FindKernel returns the one beside this program, else the newest that the machine has installed.
func FindKernel() (Kernel, error) {
	roots := []string{"/"}
	if own, err := os.Executable(); err == nil {
		roots = []string{filepath.Join(filepath.Dir(own), guestFolder), "/"}
	}
	return findKernel(roots)
}

// findKernel looks into each root, as a package of a kernel lays its files out below one.
func findKernel(roots []string) (Kernel, error) {
	for _, root := range roots {
		images, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
		if err != nil {
			return Kernel{}, fmt.Errorf("looking for kernels below %s: %w", root, err)
		}
		slices.SortFunc(images, func(a, b string) int { return compareReleases(b, a) })
		for _, image := range images {
			k := Kernel{Release: strings.TrimPrefix(filepath.Base(image), "vmlinuz-"), Image: image}
			k.modules = filepath.Join(root, "lib", "modules", k.Release)
			if root != "/" {
				k.made = root
			}
			if _, err := os.Stat(filepath.Join(k.modules, "modules.dep")); err == nil {
				return k, nil
			}
		}
	}
	return Kernel{}, errNoKernel
}

// compareReleases tells which of two names has the larger numbers: 6.12.9 is after 6.1.100.
func compareReleases(a, b string) int { return slices.Compare(releaseNumbers(a), releaseNumbers(b)) }

func releaseNumbers(name string) (all []int) {
	for _, digits := range strings.FieldsFunc(filepath.Base(name), func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			break // of more digits than a release has
		}
		all = append(all, n)
	}
	return all
}

// files are a guest's modules and those that they need, in the order in which they are loaded. What is
// built into the kernel has no file.
func (k Kernel) files(modules []string) ([]string, error) {
	needs, err := k.dependencies()
	if err != nil {
		return nil, err
	}
	builtin, err := k.builtin()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, module := range modules {
		file, known := needs[module]
		switch {
		case builtin[module]:
			continue
		case !known && k.made != "":
			return nil, fmt.Errorf("the kernel for guests in %s has no module %s: that folder is of another version, so run `make guest` again beside the windtunnel that you start", k.made, module)
		case !known:
			return nil, fmt.Errorf("the guest's kernel %s has no module %s: take another kernel", k.Release, module)
		}
		// modules.dep lists what a module needs so that the last has to be there first.
		for _, one := range slices.Backward(file) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// dependencies are each module's file and, behind it, those that it needs, by the module's name.
func (k Kernel) dependencies() (map[string][]string, error) {
	all := map[string][]string{}
	err := k.lines("modules.dep", func(line string) {
		file, needs, _ := strings.Cut(line, ":")
		all[moduleName(file)] = append([]string{file}, strings.Fields(needs)...)
	})
	return all, err
}

func (k Kernel) builtin() (map[string]bool, error) {
	all := map[string]bool{}
	err := k.lines("modules.builtin", func(line string) { all[moduleName(line)] = true })
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	return all, err
}

func (k Kernel) lines(name string, each func(string)) error {
	file, err := os.Open(filepath.Join(k.modules, name))
	if err != nil {
		return fmt.Errorf("reading what modules the guest's kernel has: %w", err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		each(scanner.Text())
	}
	return scanner.Err()
}

// moduleName is a file's module: kernel/net/virtio-net.ko.xz is virtio_net.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// unpackers are the programs that write a compressed module to their output.
var unpackers = map[string][]string{".xz": {"xz", "-dc"}, ".zst": {"zstd", "-dc"}, ".gz": {"gzip", "-dc"}}

// largestModule bounds a module's bytes.
const largestModule = 64 << 20

// module is a module as the kernel loads it.
func (k Kernel) module(file string) ([]byte, error) {
	full := filepath.Join(k.modules, filepath.Clean("/"+file))
	unpack, packed := unpackers[filepath.Ext(full)]
	if !packed {
		return os.ReadFile(full)
	}
	var out, wrong bytes.Buffer
	run := exec.Command(unpack[0], append(unpack[1:len(unpack):len(unpack)], full)...)
	run.Stdout, run.Stderr = &out, &wrong
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("unpacking the module %s by %s (apt-get install xz-utils zstd): %w: %.200s", file, unpack[0], err, wrong.String())
	}
	if out.Len() > largestModule {
		return nil, fmt.Errorf("the module %s has more than %d bytes", file, largestModule)
	}
	return out.Bytes(), nil
}
