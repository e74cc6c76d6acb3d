//go:build unix

package ntttcp

import "syscall"

// setSocket sets one whole-number option.
func setSocket(fd uintptr, level, option, value int) error {
	return syscall.SetsockoptInt(int(fd), level, option, value)
}

// getSocket reads one whole-number option.
func getSocket(fd uintptr, level, option int) (int, error) {
	return syscall.GetsockoptInt(int(fd), level, option)
}

// mostFiles is how many files this process may have open, sockets among them.
func mostFiles() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return manyFiles // cannot be: the arguments are constant
	}
	return int(min(uint64(limit.Cur), manyFiles))
}
