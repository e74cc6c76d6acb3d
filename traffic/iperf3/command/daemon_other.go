//go:build !unix

package command

import "os"

func background([]string) error { return errNoBackground }

// lives tells whether there is a process of this number.
func lives(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = process.Release()
	return true
}
