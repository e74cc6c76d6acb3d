package iperf3

import (
	"time"

	"windtunnel/traffic"
)

// meter measures this process's CPU time as iperf3 does: over the elapsed time,
// whatever else the process did meanwhile. A server's clients share it.
type meter struct {
	at           time.Time
	user, system time.Duration
}

func newMeter() meter {
	m := meter{at: time.Now()}
	m.user, m.system = traffic.ProcessCPU()
	return m
}

func (m meter) used() CPU {
	now := newMeter()
	elapsed := now.at.Sub(m.at).Seconds()
	if elapsed <= 0 {
		return CPU{}
	}
	c := CPU{User: 100 * (now.user - m.user).Seconds() / elapsed, System: 100 * (now.system - m.system).Seconds() / elapsed}
	c.Total = c.User + c.System
	return c
}
