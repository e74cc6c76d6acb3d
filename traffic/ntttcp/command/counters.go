package command

import (
	"time"

	"windtunnel/traffic"
)

// counters is what the system has counted by one moment. What it does not count
// is 0 and named in missing.
type counters struct {
	at      time.Time
	process time.Duration // CPU time of this process
	cpu     cpuTime
	mhz     float64

	interrupts, softirqs uint64 // of all kinds
	tcp                  tcpCounters
	udpErrors            uint64 // datagrams that came and that no socket got (RFC 4113)
	nicSent, nicReceived uint64 // packets of the interface that was asked for
	device               uint64 // interrupts of the device that was asked for

	missing []string // "interrupts: why"
}

// cpuTime is where the machine's CPUs spent their time, in any unit.
type cpuTime struct {
	cpus                                       int
	user, system, idle, iowait, softirq, total float64
}

// tcpCounters are of the stack, in segments (RFC 4022), and Linux' own. Those received are of all of IP on Linux.
type tcpCounters struct {
	sent, received, retransmitted, failed          uint64
	lost, syn, fast, forward, slowStart, retryFail uint64
}

// watched is what else is read.
type watched struct {
	nic, device string // "": none
	v6          bool
}

// readCounters reads everything once.
func readCounters(w watched) counters {
	user, system := traffic.ProcessCPU()
	c := counters{at: time.Now(), process: user + system}
	c.readSystem(w)
	return c
}

func (c *counters) lacks(what string, err error) {
	c.missing = append(c.missing, what+": "+err.Error())
}

// usage is what happened between two readings.
type usage struct {
	seconds float64
	counters
}

// since subtracts. A counter that went backwards, because it was reset or wraps,
// counts from 0.
func (c counters) since(before counters) usage {
	u := usage{seconds: c.at.Sub(before.at).Seconds(), counters: c}
	u.process -= before.process
	u.cpu.user -= before.cpu.user
	u.cpu.system -= before.cpu.system
	u.cpu.idle -= before.cpu.idle
	u.cpu.iowait -= before.cpu.iowait
	u.cpu.softirq -= before.cpu.softirq
	u.cpu.total -= before.cpu.total
	for _, pair := range []struct {
		now    *uint64
		before uint64
	}{
		{&u.interrupts, before.interrupts}, {&u.softirqs, before.softirqs},
		{&u.tcp.sent, before.tcp.sent}, {&u.tcp.received, before.tcp.received},
		{&u.tcp.retransmitted, before.tcp.retransmitted}, {&u.tcp.failed, before.tcp.failed},
		{&u.tcp.lost, before.tcp.lost}, {&u.tcp.syn, before.tcp.syn}, {&u.tcp.fast, before.tcp.fast},
		{&u.tcp.forward, before.tcp.forward}, {&u.tcp.slowStart, before.tcp.slowStart}, {&u.tcp.retryFail, before.tcp.retryFail},
		{&u.udpErrors, before.udpErrors}, {&u.nicSent, before.nicSent}, {&u.nicReceived, before.nicReceived}, {&u.device, before.device},
	} {
		if *pair.now >= pair.before {
			*pair.now -= pair.before
		}
	}
	return u
}

// share is a part of all CPU time, 0 to 1.
func (u usage) share(part float64) float64 { return ratio(part, u.cpu.total) }

// busy is the share of CPU time that was not idle. ntttcp-for-linux takes waiting
// for I/O for busy, so it is a parameter.
func (u usage) busy(iowaitIsIdle bool) float64 {
	if u.cpu.total == 0 {
		return 0
	}
	idle := u.cpu.idle
	if iowaitIsIdle {
		idle += u.cpu.iowait
	}
	return 1 - u.share(idle)
}

// cyclesPerByte is the busy share of all CPUs' cycles, by the speed that the
// system states, over the bytes.
func (u usage) cyclesPerByte(busy float64, bytes uint64, seconds float64) float64 {
	return ratio(u.mhz*1e6*seconds*float64(u.cpu.cpus)*busy, float64(bytes))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
