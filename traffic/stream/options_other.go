//go:build !linux

package stream

import (
	"fmt"
	"runtime"
	"syscall"

	"windtunnel/traffic"
)

// control returns the hook with which net makes a socket.
func (l load) control() func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = l.configure(fd, network == "tcp6") }); e != nil {
			return e
		}
		return err
	}
}

func (l load) configure(fd uintptr, v6 bool) error {
	for option, size := range map[int]int{syscall.SO_SNDBUF: l.sendBuffer, syscall.SO_RCVBUF: l.recvBuffer} {
		if size == 0 {
			continue
		}
		if err := setOption(fd, syscall.SOL_SOCKET, option, size); err != nil {
			return fmt.Errorf("setting a socket buffer of %d bytes: %w", size, err)
		}
	}
	return l.mark(fd, v6)
}

// available refuses the options that this system does not have. Its own
// congestion control, which cannot be chosen per socket, is cubic.
func (l load) available() error {
	if l.congestion != "cubic" && l.congestion != traffic.SystemCongestion {
		return fmt.Errorf("%s does not choose the congestion control per socket and has cubic: leave congestion out", runtime.GOOS)
	}
	return l.markable()
}
