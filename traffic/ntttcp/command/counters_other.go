//go:build !linux && !windows

package command

import "errors"

var errNoCounter = errors.New("this system tells none that could be read here")

func (c *counters) readSystem(watched) {
	c.readHost()
	c.lacks("interrupts, DPCs, CPU speed and packets", errNoCounter)
}
