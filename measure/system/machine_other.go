//go:build !windows && !darwin

package system

import (
	"fmt"
	"runtime"
)

// Open refuses: Linux has probes of its own, and other systems none here.
func Open() (Machine, error) {
	return nil, fmt.Errorf("this package reads the counters of Windows and macOS, and this is %s", runtime.GOOS)
}
