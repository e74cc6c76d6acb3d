//go:build !linux

package iperf3

import (
	"fmt"
	"runtime"
)

// set gives a socket the options that every system has, and refuses the others.
func (o socketOptions) set(fd uintptr, _ string) error {
	if err := o.onlyOnLinux(runtime.GOOS); err != nil {
		return err
	}
	if o.reuse {
		if err := shareAddress(fd); err != nil {
			return err
		}
	}
	if o.window > 0 {
		if err := setWindow(fd, o.window); err != nil {
			return &OptionError{ErrorSetBuffer, fmt.Errorf("setting buffers of %d bytes: %w", o.window, err)}
		}
	}
	return nil
}

// look knows nothing more than the descriptor.
func look(fd uintptr) socketFacts { return socketFacts{fd: int(fd)} }

// errnoOf is 0: the numbers are not those of the peer's system.
func errnoOf(error) int { return 0 }
