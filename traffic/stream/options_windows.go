package stream

import (
	"errors"

	"golang.org/x/sys/windows"
)

// gone is what calls return when the peer has gone.
var gone = []error{windows.WSAECONNRESET, windows.WSAECONNABORTED, windows.WSAESHUTDOWN}

func setOption(fd uintptr, level, option, value int) error {
	return windows.SetsockoptInt(windows.Handle(fd), level, option, value)
}

// mark has nothing to set: see markable.
func (load) mark(uintptr, bool) error { return nil }

// markable refuses what Windows keeps to itself: TCP_MAXSEG can only be read, and
// marks in IP_TOS are dropped since Windows 2000 unless a QoS policy sets them.
func (l load) markable() error {
	switch {
	case l.mss > 0:
		return errors.New("Windows does not let a program choose the largest segment: leave mss out, or set the interface's MTU")
	case l.dscp > 0:
		return errors.New("Windows drops a program's DSCP marks: leave dscp out, or set a QoS policy for the program")
	}
	return nil
}
