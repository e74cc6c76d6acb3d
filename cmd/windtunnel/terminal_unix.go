//go:build linux || darwin

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf asks for the window's size, which only a terminal has (ioctl_tty(2)).
func columnsOf(file *os.File) (columns int, terminal bool) {
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
