package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// CgroupPrefix begins the name of every control group that is ours to remove.
const CgroupPrefix = "/windtunnel-"

// cgroupRoot is where control groups are mounted: version 2's tree, or a folder for each tree of
// version 1 (cgroups(7)).
const cgroupRoot = "/sys/fs/cgroup"

// busyFor is how long a group may take to become empty once its processes were killed.
const busyFor = 5 * time.Second

// RemoveCgroups removes a control group, and what is below it, from every tree. It reports
// whether there was any.
func RemoveCgroups(name string) (bool, error) { return removeCgroups(cgroupRoot, name) }

func removeCgroups(root, name string) (there bool, err error) {
	if !strings.HasPrefix(name, CgroupPrefix) || filepath.Clean(name) != name {
		return false, fmt.Errorf("%q is no control group of ours", name)
	}
	trees, err := filepath.Glob(root + "/*" + name)
	if err != nil {
		return false, err
	}
	for _, tree := range append(trees, root+name) {
		if _, err := os.Stat(tree); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		there = true
		if failed := removeTree(tree); failed != nil {
			err = errors.Join(err, fmt.Errorf("removing a control group: %w", failed))
		}
	}
	return there, err
}

// removeTree removes folders from the bottom up; the files in them are the kernel's and go along.
func removeTree(tree string) error {
	var folders []string
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	until := time.Now().Add(busyFor)
	for _, folder := range slices.Backward(folders) {
		for {
			err := syscall.Rmdir(folder)
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || time.Now().After(until) {
				return fmt.Errorf("%s: %w", folder, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}
