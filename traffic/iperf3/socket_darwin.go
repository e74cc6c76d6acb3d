package iperf3

import (
	"errors"
	"syscall"
)

// shareAddress needs SO_REUSEPORT for sockets of the same address and port.
func shareAddress(fd uintptr) error {
	return errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEPORT, 1))
}

func setWindow(fd uintptr, size int) error {
	return errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, size),
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, size))
}
