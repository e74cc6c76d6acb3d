package ntttcp

import "syscall"

// setSocket sets one whole-number option.
func setSocket(fd uintptr, level, option, value int) error {
	return syscall.SetsockoptInt(syscall.Handle(fd), level, option, value)
}

// getSocket reads one whole-number option.
func getSocket(fd uintptr, level, option int) (int, error) {
	return syscall.GetsockoptInt(syscall.Handle(fd), level, option)
}

// mostFiles is how many handles this process may have: memory bounds them, and no limit.
func mostFiles() int { return manyFiles }
