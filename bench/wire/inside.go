package wire

import (
	"errors"
	"runtime"

	"github.com/vishvananda/netns"

	"windtunnel/traffic"
)

// Inside runs something of this process as Command runs a program: in the node's namespace, on its CPU,
// on a thread of its own.
func (n Node) Inside(nice int, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its binding and namespace
		there, err := netns.GetFromName(n.Namespace)
		if err != nil {
			done <- err
			return
		}
		defer there.Close()
		if err := errors.Join(traffic.PinThread(n.CPU), renice(nice), netns.Set(there)); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// renice changes the calling thread's priority as nice(1) does, from what it is.
func renice(nice int) error {
	if nice == 0 {
		return nil
	}
	is, err := traffic.ThreadNice()
	if err != nil {
		return err
	}
	return traffic.SetThreadNice(is + nice)
}
