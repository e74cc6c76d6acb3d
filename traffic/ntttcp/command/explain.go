package command

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Winsock's errors, which package syscall does not name (winsock2.h).
const (
	wsaAddressInUse  = syscall.Errno(10048)
	wsaNoSuchAddress = syscall.Errno(10049)
)

// explain adds the next step to errors of the system that people meet.
func explain(err error) error {
	var dialling *net.OpError
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, wsaNoSuchAddress):
		if errors.As(err, &dialling) && dialling.Op == "dial" && dialling.Source == nil { // no own address was asked for
			return err
		}
		return fmt.Errorf("%w; the address of a receiver, and a sender's own, must be this machine's: `ip address` lists them", err)
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaAddressInUse):
		if errors.As(err, &dialling) && dialling.Op == "dial" {
			return fmt.Errorf("%w; the sender's own port (-f) is taken, or a test that just ended still has it for a minute (TIME_WAIT): choose another -f", err)
		}
		return fmt.Errorf("%w; another program listens there: end it, or choose other ports with -p on both ends", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w; raise the limit of open files (ulimit -n), or use fewer connections", err)
	}
	return err
}
