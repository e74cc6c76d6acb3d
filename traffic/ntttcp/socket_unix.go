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
