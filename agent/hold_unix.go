//go:build unix

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Hold takes this machine for one of its user's runs, until release is called or this process ends, however it does: the
// lock is the kernel's, flock(2). The error names the holder.
func Hold(what string) (release func() error, err error) {
	return holdFile(filepath.Join(os.TempDir(), "windtunnel.lock"), what)
}

func holdFile(path, what string) (release func() error, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("taking the host's lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close()
		return nil, fmt.Errorf("this host is taken by %s; one run at a time, or they would measure each other", readHolder(file))
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(holderLine(what)), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the host's lock: %w", err), file.Close())
	}
	return func() error { return errors.Join(file.Truncate(0), file.Close()) }, nil
}
