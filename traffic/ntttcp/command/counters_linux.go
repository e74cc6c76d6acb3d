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
	c.tcp = tcpCounters{sent: v["Tcp.OutSegs"], retransmitted: v["Tcp.RetransSegs"], failed: v["Tcp.AttemptFails"]}
	c.udpErrors = v["Udp.InErrors"]
	if w.v6 {
		c.readIPv6()
	}
	text, err := slurp("/proc/thread-self/net/netstat")
	if err != nil {
		c.lacks("received packets and kinds of retransmits", err)
		return
	}
	v = traffic.NetTable(text)
	if !w.v6 {
		c.cameIn(v, "IpExt.")
	}
	c.tcp.lost, c.tcp.syn, c.tcp.fast = v["TcpExt.TCPLostRetransmit"], v["TcpExt.TCPSynRetrans"], v["TcpExt.TCPFastRetrans"]
	c.tcp.slowStart, c.tcp.retryFail = v["TcpExt.TCPSlowStartRetrans"], v["TcpExt.TCPRetransFail"]
	// Kernels since 4.15 retransmit by RACK and have no forward retransmits.
	c.tcp.forward = v["TcpExt.TCPForwardRetrans"]
}

func (c *counters) readIPv6() {
	text, err := slurp("/proc/thread-self/net/snmp6")
	if err != nil {
		c.lacks("received packets and errors of IPv6", err)
		return
	}
	six := traffic.NetColumns(text)
	c.udpErrors = six["Udp6InErrors"]
	c.cameIn(six, "Ip6")
}

// cameIn takes all packets of one IP version that came into the namespace, of other programs and protocols, too. Tcp.InSegs is TCP
// alone, but counts what was joined on its way (GRO) as one segment; these are sorted by their ECN bits, and count each packet
// of it (ip_rcv_core in net/ipv4/ip_input.c).
func (c *counters) cameIn(v map[string]uint64, group string) {
	if _, counted := v[group+"InNoECTPkts"]; !counted {
		c.lacks("received packets", errors.New("the kernel counts none of IP by ECN"))
	}
	for _, bits := range []string{"NoECT", "ECT0", "ECT1", "CE"} {
		c.tcp.received += v[group+"In"+bits+"Pkts"]
	}
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
