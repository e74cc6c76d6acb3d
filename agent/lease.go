//go:build linux

package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"windtunnel/ktime"
)

// Root is where leases are kept on a host.
const Root = "/run/windtunnel"

// leaseName is a lease's folder, by its owner's process id and start time.
const leaseName = "lease-%d-%s"

// Process names a process for good: ids are reused, an id with a start time is
// not.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // clock ticks since boot, /proc/PID/stat field 22, by the kernel's clock
	What  string `json:"what,omitempty"`
}

// Lives reports whether that very process still runs.
func (p Process) Lives() bool {
	start, err := startTime(p.PID)
	return err == nil && start == p.Start
}

// ThisProcess names a running process.
func ThisProcess(pid int, what string) (Process, error) {
	start, err := startTime(pid)
	return Process{PID: pid, Start: start, What: what}, err
}

// startTime reads field 22 of /proc/PID/stat (proc(5)).
func startTime(pid int) (string, error) {
	fields, err := ktime.Stat(pid)
	if err != nil {
		return "", err
	}
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat is short", pid)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", fmt.Errorf("process %d is dead", pid)
	}
	moved := ktime.BootMoved() // by which who reads it sees it later, and others do not
	if moved == 0 {
		return fields[19], nil
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	return strconv.FormatInt(ticks-int64(moved/ktime.Tick), 10), err
}

// Lease is what one conductor holds on this host: a folder under Root that names
// its owner, in which its agents note what would outlive a kill -9 of them.
// Namespaces, links, programs and settings do not: they belong to the agents'
// own network namespaces, which the kernel takes away with the last process in
// them. Processes do, and folders, and settings of the whole host.
type Lease struct {
	Owner Process `json:"owner"`
	Run   string  `json:"run"` // what the owner works on, for messages
	Dir   string  `json:"-"`
	lock  *os.File
	notes *journal // of what the owner changed itself; nil: nothing
}

// Acquire takes the host's lock and makes a lease. The lock's error names the
// holder.
func Acquire(root, run string) (*Lease, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("making %s: %w", root, err)
	}
	lock, err := takeLock(root)
	if err != nil {
		return nil, err
	}
	// What dead runs left would otherwise pass for how the host was.
	if _, err := Clean(root); err != nil {
		lock.Close()
		return nil, fmt.Errorf("cleaning up after a run that was killed: %w", err)
	}
	owner, err := ThisProcess(os.Getpid(), "conductor")
	if err != nil {
		lock.Close()
		return nil, err
	}
	l := &Lease{Owner: owner, Run: run, Dir: filepath.Join(root, fmt.Sprintf(leaseName, owner.PID, owner.Start)), lock: lock}
	if err := l.write(); err != nil {
		return nil, errors.Join(fmt.Errorf("making the lease %s: %w", l.Dir, err), l.Release())
	}
	return l, nil
}

func (l *Lease) write() error {
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(l.Dir, "lease.json"), text, 0o600); err != nil {
		return err
	}
	_, err = l.lock.WriteAt(append(text, '\n'), 0)
	return err
}

// ownNotes is the folder of what a lease's owner changed itself.
const ownNotes = "owner"

// Raise brings a number in a file of the host's up to least, if it is lower, until the lease is released, or
// cleaned up after its owner was killed.
func (l *Lease) Raise(file string, least int) (err error) {
	if l.notes == nil {
		if l.notes, err = openJournal(filepath.Join(l.Dir, ownNotes)); err != nil {
			return err
		}
	}
	return l.notes.raise(file, least)
}

// Release gives the lease and the lock back, and undoes what an agent that was
// killed could not.
func (l *Lease) Release() error {
	var noted error
	if l.notes != nil {
		noted = l.notes.close()
	}
	_, _, err := undoLease(l.Dir)
	return errors.Join(noted, err, l.lock.Truncate(0), l.lock.Close())
}

// takeLock locks the host for one run. The lock is the kernel's (flock(2)), so
// it cannot outlive its holder.
func takeLock(root string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(root, "lock"), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the host's lock: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer lock.Close()
		return nil, fmt.Errorf("this host is taken by %s; one run at a time, or they would measure each other", holder(lock))
	}
	return lock, lock.Truncate(0)
}

// RemoveCopied removes a folder of programs that were brought here, unless a living lease has the same
// ones: that removes them.
func RemoveCopied(root, folder string) error {
	leases, err := filepath.Glob(filepath.Join(root, "lease-*"))
	if err != nil {
		return err
	}
	for _, dir := range leases {
		if owner, err := leaseOwner(dir); err != nil || !owner.Lives() {
			continue
		}
		journals, _ := filepath.Glob(filepath.Join(dir, "*", journalName))
		for _, path := range journals {
			entries, err := readJournal(path)
			if err != nil {
				return fmt.Errorf("reading who has %s: %w", folder, err)
			}
			if slices.ContainsFunc(entries, func(e entry) bool { return e.Copied == folder }) {
				return nil
			}
		}
	}
	return removeCopied(folder)
}

func holder(lock *os.File) string {
	text := make([]byte, 4096)
	n, _ := lock.ReadAt(text, 0)
	var l Lease
	if json.Unmarshal(text[:n], &l) != nil {
		return "another windtunnel"
	}
	return fmt.Sprintf("process %d (%s)", l.Owner.PID, l.Run)
}
