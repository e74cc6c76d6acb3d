package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
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
	var said []string
	journals, _ := filepath.Glob(filepath.Join(dir, "*", journalName))
	for _, path := range journals {
		processes, err := readJournal(path)
		if err != nil {
			return said, fmt.Errorf("reading %s: %w", path, err)
		}
		for _, p := range processes {
			if p.Lives() {
				endProcess(p)
				said = append(said, fmt.Sprintf("ended process %d (%s)", p.PID, p.What))
			}
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return said, fmt.Errorf("removing %s: %w", dir, err)
	}
	return append(said, "removed "+dir), nil
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
