package ktime

import (
	"fmt"
	"strings"
	"time"
)

// offset reads a clock's line, which has seconds, that may be less than none, and nanoseconds.
func offset(text, clock string) time.Duration {
	for line := range strings.Lines(text) {
		var name string
		var seconds, nanoseconds int64
		if n, _ := fmt.Sscan(line, &name, &seconds, &nanoseconds); n == 3 && name == clock {
			return time.Duration(seconds)*time.Second + time.Duration(nanoseconds)
		}
	}
	return 0
}
