package ssh

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"windtunnel/agent/ours"
)

// What a guest's folder may have: it goes to each host, with a line of checksums a file.
const (
	mostGuestFiles    = 200
	largestGuestBytes = 256 << 20
)

// guestShape is of names that are themselves in a file of checksums and in a line of a shell's.
var guestShape = regexp.MustCompile(`^[A-Za-z0-9_+.,/-]{1,200}$`)

// Guest are the files of a kernel for virtual machines, which are brought beside our programs to a system that runs such. None,
// if there is no such folder here: the host may have a kernel of its own.
func Guest(system System) ([]Program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	folder := ours.Guest(self, system.Architecture)
	if folder == "" {
		return nil, nil
	}
	return guestFiles(folder)
}

func guestFiles(folder string) (all []Program, err error) {
	bytes := int64(0)
	err = filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all, bytes = append(all, Program{path.Join(ours.GuestFolder, filepath.ToSlash(name)), file}), bytes+info.Size()
		if len(all) > mostGuestFiles || bytes > largestGuestBytes || !guestShape.MatchString(filepath.ToSlash(name)) {
			return fmt.Errorf("it is none of `make guest`, with at most %d files and %d MiB, at %q: make it anew, or move it away, and hosts' own kernels are taken",
				mostGuestFiles, largestGuestBytes>>20, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the folder of a kernel for virtual machines, %s: %w", folder, err)
	}
	return all, nil
}
