//go:build !unix

package command

import (
	"errors"
	"os"
)

func background([]string) error {
	return errors.New("-D (--daemon): this system has no daemons: start it without -D, by Start-Process or as a service")
}

// lives tells whether there is a process of this number.
func lives(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = process.Release()
	return true
}
