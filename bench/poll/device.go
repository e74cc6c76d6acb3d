package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// device is a data plane between two vhost-user sockets.
type device struct {
	name    string
	place   *place
	in, out string
	pids    []int // of what polls
	// meter reads its own counters.
	meter func() (reading, error)
}

// reading is a device's account of itself at an instant.
type reading struct {
	busy    uint64  // cycles in which it had packets
	packets uint64  // that it has received
	at      float64 // the instant, in cycles
	stages  stages  // of the vRouter
}

// halt makes the device stand still: others need its CPU.
func (d *device) halt() error { return d.signal(unix.SIGSTOP) }

func (d *device) resume() error { return d.signal(unix.SIGCONT) }

func (d *device) signal(s unix.Signal) (err error) {
	for _, pid := range d.pids {
		if failed := unix.Kill(pid, s); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: signal %v: %w", d.name, s, failed))
		}
	}
	return err
}

// less is what was added since another reading.
func (r reading) less(before reading) reading {
	return reading{r.busy - before.busy, r.packets - before.packets, r.at - before.at, r.stages.less(before.stages)}
}
