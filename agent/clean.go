//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed/docker"
)

// killPatience is how long a left-over process may take to end by itself once
// asked, before it is killed.
const killPatience = 3 * time.Second

// Clean takes away what dead conductors and agents left under root, and nothing
// that a living one holds. It returns a line for each thing that it did or left
// alone.
func Clean(root string) (said []string, err error) {
	leases, err := filepath.Glob(filepath.Join(root, "lease-*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range leases {
		lines, failed := cleanLease(dir)
		said = append(said, lines...)
		err = errors.Join(err, failed)
	}
	return said, err
}

func cleanLease(dir string) ([]string, error) {
	owner, err := leaseOwner(dir)
	if err == nil && owner.Lives() {
		return []string{fmt.Sprintf("left alone: %s, held by living process %d", dir, owner.PID)}, nil
	}
	said, owed, err := undoLease(dir)
	if err != nil || owed {
		return said, err
	}
	return append(said, "removed "+dir), nil
}

// undoLease undoes what the journals in a lease's folder list, which are those of
// agents that did not do so themselves, and removes the folder. It stays, and is owed, while an engine does not run that
// may have something of the lease's: the next one to clean tries again.
func undoLease(dir string) (said []string, owed bool, err error) {
	journals, _ := filepath.Glob(filepath.Join(dir, "*", journalName))
	for _, path := range journals {
		lines, stays, err := undoJournal(path)
		said, owed = append(said, lines...), owed || stays
		if err != nil {
			return said, owed, err
		}
	}
	if owed {
		return said, true, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return said, false, fmt.Errorf("removing %s: %w", dir, err)
	}
	return said, false, nil
}

// undoJournal ends processes first, so that nobody works on under a setting that
// is put back. A host misses its interface more than it minds a container: engines, which may take
// their time, come after it. This program may be one of those that were brought here, and they stay while
// something else does, as does what an engine owes that does not run.
func undoJournal(path string) (said []string, owed bool, err error) {
	entries, err := readJournal(path)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, e := range entries {
		if e.PID > 1 && e.PID != os.Getpid() && e.Process.Lives() {
			endProcess(e.Process)
			said = append(said, fmt.Sprintf("ended process %d (%s)", e.PID, e.What))
		}
	}
	lines, err := undoHost(entries)
	said = append(said, lines...)
	lines, owed, failed := undoEngines(entries)
	said, err = append(said, lines...), errors.Join(err, failed)
	if err != nil || owed {
		return said, owed, err
	}
	for _, e := range entries {
		if e.Copied == "" {
			continue
		}
		if err := removeCopied(e.Copied); err != nil {
			return said, false, err
		}
		said = append(said, "removed "+e.Copied)
	}
	return said, false, nil
}

// undoHost puts back a host's interface and settings. An interface that was taken more than once is put back to how it was
// the last time, when its owner may have changed it.
func undoHost(entries []entry) (said []string, err error) {
	returned := map[string]bool{"": true}
	for _, e := range slices.Backward(entries) {
		if !returned[e.NIC.Device] {
			returned[e.NIC.Device] = true
			was, failed := e.NIC.Return()
			err = errors.Join(err, failed)
			if was && failed == nil {
				said = append(said, "put the interface "+e.NIC.Device+" back")
			}
		}
		if e.File == "" {
			continue
		}
		changed, failed := e.Setting.undo()
		err = errors.Join(err, failed)
		if changed {
			said = append(said, fmt.Sprintf("put %s back to %s", e.File, e.Was))
		}
	}
	return said, err
}

// undoEngines removes what engines left or still run. Of one that does not run it is owed.
func undoEngines(entries []entry) (said []string, owed bool, err error) {
	asked := map[Engine]bool{{}: true}
	for _, e := range slices.Backward(entries) { // containers before the image that they share
		if asked[e.Engine] && e.Cgroup == "" {
			continue // a cell that was built anew for every trial has as many entries
		}
		asked[e.Engine] = true
		lines, stays, failed := e.undoContainers()
		said, owed, err = append(said, lines...), owed || stays, errors.Join(err, failed)
	}
	return said, owed, err
}

// removeCopied removes a folder of programs that were brought here, and the folder of such folders if it
// was the last.
func removeCopied(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("removing the programs that were brought here: %w", err)
	}
	_ = os.Remove(filepath.Dir(folder)) // others' are in it
	return nil
}

// forgotten is after how long programs that were brought to a host, and whose agent was never started,
// are nobody's any more.
const forgotten = time.Hour

// removeForgotten removes such programs beside this one's, best effort.
func removeForgotten(own string) {
	folders, _ := os.ReadDir(filepath.Dir(own))
	for _, folder := range folders {
		info, err := folder.Info()
		path := filepath.Join(filepath.Dir(own), folder.Name())
		if err == nil && path != own && copiedName.MatchString(folder.Name()) && time.Since(info.ModTime()) > forgotten {
			_ = os.RemoveAll(path)
		}
	}
}

// copiedName is what folders of brought programs are called (agent/ssh).
var copiedName = regexp.MustCompile(`^([0-9a-f]{16}|\.new\.[A-Za-z0-9]{6})$`)

// removePatience is how long an engine may take to remove containers.
const removePatience = time.Minute

// undoContainers removes what an engine of others' still runs for the entry, and the control groups of
// one that has ended.
func (e entry) undoContainers() (said []string, owed bool, err error) {
	if e.Engine.Socket != "" {
		ctx, cancel := context.WithTimeout(context.Background(), removePatience)
		defer cancel()
		said, err = docker.Remove(ctx, e.Engine.Socket, e.Engine.Lease)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
			said, owed, err = []string{"left alone, since it does not run: " + e.Engine.left() + "; or start it, and `windtunnel clean` does that"}, true, nil
		}
	}
	if e.Cgroup == "" {
		return said, owed, err
	}
	there, failed := docker.RemoveCgroups(e.Cgroup)
	if there && failed == nil {
		said = append(said, "removed the control groups "+e.Cgroup)
	}
	return said, owed, errors.Join(err, failed)
}

// leaseOwner reads a lease's owner, or takes it from the folder's name: a lease
// that is being made has no file yet, and others may not be allowed to read it.
func leaseOwner(dir string) (Process, error) {
	text, err := os.ReadFile(filepath.Join(dir, "lease.json"))
	var l Lease
	if err == nil && json.Unmarshal(text, &l) == nil {
		return l.Owner, nil
	}
	var p Process
	_, err = fmt.Sscanf(filepath.Base(dir), leaseName, &p.PID, &p.Start)
	return p, err
}

// endProcess asks, waits and then kills. The process file descriptor makes sure
// that it is still the process which was looked at (pidfd_open(2), Linux 5.3).
func endProcess(p Process) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil || !p.Lives() {
		return
	}
	defer unix.Close(fd)
	_ = unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
	if !exits(fd, killPatience) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		exits(fd, killPatience)
	}
}

// exits waits until the process behind a pidfd has ended: it then polls readable.
func exits(fd int, patience time.Duration) bool {
	deadline := time.Now().Add(patience)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(polled, int(left.Milliseconds())+1)
		if n > 0 {
			return true
		}
		if err != nil && err != unix.EINTR {
			return false
		}
	}
}
