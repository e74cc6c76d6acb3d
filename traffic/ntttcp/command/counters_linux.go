package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"windtunnel/traffic"
)

// longestFile bounds what is read of a file of /proc: /proc/interrupts of a
// machine with many CPUs is long.
const longestFile = 16 << 20

func slurp(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestFile))
	return string(text), err
}

// readSystem reads /proc. Windows' DPCs are what Linux calls softirqs.
func (c *counters) readSystem(w watched) {
	text, err := slurp("/proc/stat")
	if err == nil {
		c.cpu, c.interrupts, c.softirqs, err = parseStat(text)
	}
	if err != nil {
		c.lacks("CPU use, interrupts and DPCs", err)
	}
	if text, err = slurp("/proc/cpuinfo"); err == nil {
		c.mhz, err = megahertz(text)
	}
	if err != nil {
		c.lacks("CPU speed, and with it cycles a byte", err)
	}
	c.readStack(w)
	if w.nic != "" {
		c.readNIC(w.nic)
	}
	if w.device != "" {
		if text, err = slurp("/proc/interrupts"); err != nil {
			c.lacks("interrupts of "+w.device, err)
		}
		var found bool
		if c.device, found = deviceInterrupts(text, w.device); !found {
			c.lacks("interrupts of "+w.device, errors.New("no line of /proc/interrupts has that in it"))
		}
	}
}

// readStack reads the counters of this thread's network namespace.
func (c *counters) readStack(w watched) {
	snmp, err := slurp("/proc/thread-self/net/snmp")
	if err != nil {
		c.lacks("packets and retransmits", err)
		return
	}
	v := traffic.NetTable(snmp)
	c.tcp = tcpCounters{sent: v["Tcp.OutSegs"], received: v["Tcp.InSegs"], retransmitted: v["Tcp.RetransSegs"], failed: v["Tcp.AttemptFails"]}
	c.udp = udpCounters{sent: v["Udp.OutDatagrams"], received: v["Udp.InDatagrams"], errors: v["Udp.InErrors"]}
	if w.v6 {
		text, err := slurp("/proc/thread-self/net/snmp6")
		if err != nil {
			c.lacks("IPv6 datagrams", err)
		}
		six := traffic.NetColumns(text)
		c.udp = udpCounters{sent: six["Udp6OutDatagrams"], received: six["Udp6InDatagrams"], errors: six["Udp6InErrors"]}
	}
	text, err := slurp("/proc/thread-self/net/netstat")
	if err != nil {
		c.lacks("kinds of retransmits", err)
		return
	}
	v = traffic.NetTable(text)
	c.tcp.lost, c.tcp.syn, c.tcp.fast = v["TcpExt.TCPLostRetransmit"], v["TcpExt.TCPSynRetrans"], v["TcpExt.TCPFastRetrans"]
	c.tcp.slowStart, c.tcp.retryFail = v["TcpExt.TCPSlowStartRetrans"], v["TcpExt.TCPRetransFail"]
	// Kernels since 4.15 retransmit by RACK and have no forward retransmits.
	c.tcp.forward = v["TcpExt.TCPForwardRetrans"]
}

func (c *counters) readNIC(name string) {
	for _, one := range []struct {
		into *uint64
		file string
	}{{&c.nicSent, "tx_packets"}, {&c.nicReceived, "rx_packets"}} {
		text, err := slurp(filepath.Join("/sys/class/net", filepath.Base(name), "statistics", one.file))
		if err == nil {
			*one.into, err = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		}
		if err != nil {
			c.lacks("packets of "+name, fmt.Errorf("%w; `ip link` lists the interfaces", err))
			return
		}
	}
}
