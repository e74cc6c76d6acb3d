package command

import (
	"errors"
	"fmt"
	"syscall"
)

// explain adds the next step to errors of the system that people meet.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w; the address of a receiver, and a sender's own, must be this machine's: `ip address` lists them", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; another program listens there: end it, or choose other ports with -p on both ends", err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w; raise the limit of open files (ulimit -n), or use fewer connections", err)
	}
	return err
}
