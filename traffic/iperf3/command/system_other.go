//go:build !linux

package command

import (
	"os"
	"runtime"
)

// systemInfo names the system and the machine.
func systemInfo() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return runtime.GOOS + " " + host + " " + runtime.GOARCH
}
