package generator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mostDescriptors bounds how many of a program's descriptors are looked at.
const mostDescriptors = 4096

// eachConnection calls do with every TCP connection that a process has established: what
// its descriptor is called in /proc, and a copy of it (pidfd_getfd(2), Linux 5.6), which is
// closed afterwards.
func eachConnection(pid int, do func(socket string, fd int, info unix.TCPInfo) error) error {
	process, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended, and whoever waits for it says so
	}
	if err != nil {
		return fmt.Errorf("looking at process %d: %w", pid, err)
	}
	defer unix.Close(process)
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing the program's sockets: %w", err)
	}
	for _, entry := range entries[:min(len(entries), mostDescriptors)] {
		name, err := os.Readlink(filepath.Join(folder, entry.Name()))
		if err != nil || !strings.HasPrefix(name, "socket:") {
			continue // it was closed, or is none
		}
		theirs, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if err := withConnection(process, theirs, name, do); err != nil {
			return err
		}
	}
	return nil
}

// withConnection calls do if the descriptor is a connection.
func withConnection(process, theirs int, name string, do func(string, int, unix.TCPInfo) error) error {
	const established = 1 // TCP_ESTABLISHED in include/net/tcp_states.h
	fd, err := unix.PidfdGetfd(process, theirs, 0)
	if errors.Is(err, unix.EBADF) || errors.Is(err, unix.ESRCH) {
		return nil // it was closed meanwhile
	}
	if err != nil {
		return fmt.Errorf("looking at the program's sockets: %w", err)
	}
	defer unix.Close(fd)
	if protocol, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL); err != nil || protocol != unix.IPPROTO_TCP {
		return nil
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.State != established {
		return nil
	}
	return do(name, fd, *info)
}
