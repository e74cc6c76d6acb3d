//go:build !linux

package traffic

import (
	"fmt"
	"runtime"
)

// Machine names what a calibration depends on, as far as this system tells it.
func Machine() string {
	return fmt.Sprintf("%s x %d, %s", runtime.GOARCH, runtime.NumCPU(), runtime.GOOS)
}
