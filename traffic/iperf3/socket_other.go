//go:build !linux

package iperf3

import (
	"fmt"
	"runtime"
)

// set gives a socket the options that every system has, and refuses the others.
func (o socketOptions) set(fd uintptr, _ string) error {
	for _, missing := range []struct {
		wanted bool
		flag   string
	}{
		{o.device != "", "binding to a device"},
		{o.mss > 0 && !o.datagrams, "a largest segment"},
		{o.congestion != "" && !o.datagrams, "a congestion control"},
		{o.tos > 0, "a type of service"},
		{o.fqRate > 0, "pacing by the kernel"},
		{o.userTimeout > 0 && !o.datagrams, "a send timeout"},
		{o.dontFragment && o.datagrams, "forbidding fragments"},
	} {
		if missing.wanted {
			return fmt.Errorf("%s cannot be set on %s here: leave the option out", missing.flag, runtime.GOOS)
		}
	}
	if o.reuse {
		if err := shareAddress(fd); err != nil {
			return err
		}
	}
	if o.window > 0 {
		return setWindow(fd, o.window)
	}
	return nil
}

// look knows nothing more than the descriptor.
func look(fd uintptr) socketFacts { return socketFacts{fd: int(fd)} }

// errnoOf is 0: the numbers are not those of the peer's system.
func errnoOf(error) int { return 0 }
