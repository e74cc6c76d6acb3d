//go:build !linux

package command

import (
	"runtime"

	"windtunnel/traffic"
)

// readHost takes the CPU time from what every system has: busy and not.
func (c *counters) readHost() {
	c.cpu.cpus = runtime.NumCPU()
	busy, total, err := traffic.HostCPU()
	if err != nil {
		c.lacks("CPU use", err)
		return
	}
	c.cpu.system, c.cpu.idle, c.cpu.total = busy.Seconds(), (total - busy).Seconds(), total.Seconds()
}
