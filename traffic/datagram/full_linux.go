package datagram

import (
	"os"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// fullBuffers counts the datagrams for which the sockets of one network namespace had
// no room. A socket's own count (sk_drops) also holds those with a wrong checksum
// (__udp_enqueue_schedule_skb and udp_queue_rcv_one_skb in net/ipv4/udp.c), which are
// the path's doing and not the receiver's: it cannot be more than this one grew.
type fullBuffers struct {
	snmp, snmp6 *os.File // nil: not to be read
	before      uint64
}

// openFullBuffers is for the namespace of the calling thread, if the socket is of that
// one; nil where that is not so, or not known.
func openFullBuffers(fd int) *fullBuffers {
	if !isOfThisNamespace(fd) {
		return nil
	}
	f := &fullBuffers{}
	f.snmp, _ = os.Open("/proc/thread-self/net/snmp")
	f.snmp6, _ = os.Open("/proc/thread-self/net/snmp6")
	var known bool
	if f.before, known = f.count(); !known {
		f.close()
		return nil
	}
	return f
}

// isOfThisNamespace compares a socket's namespace (SIOCGSKNS, linux/sockios.h, which
// needs CAP_NET_ADMIN) with the calling thread's. Who may not ask has no second one.
func isOfThisNamespace(fd int) bool {
	const siocgskns = 0x894c
	space, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), siocgskns, 0)
	if errno != 0 {
		return errno == unix.EPERM
	}
	defer unix.Close(int(space))
	var its, ours unix.Stat_t
	return unix.Fstat(int(space), &its) == nil && unix.Stat("/proc/thread-self/ns/net", &ours) == nil && its.Ino == ours.Ino && its.Dev == ours.Dev
}

// grown is by how much the count has grown since it was opened.
func (f *fullBuffers) grown() (n uint64, known bool) {
	now, known := f.count()
	return now - min(now, f.before), known
}

// count sums those of IPv4 and IPv6; a kernel without IPv6 has no snmp6.
func (f *fullBuffers) count() (sum uint64, known bool) {
	text, err := slurp(f.snmp)
	if err != nil {
		return 0, false
	}
	sum, known = udpFull(text)
	if f.snmp6 != nil {
		if text, err = slurp(f.snmp6); err != nil {
			return 0, false
		}
		sum += udp6Full(text)
	}
	return sum, known
}

func (f *fullBuffers) close() {
	f.snmp.Close()
	f.snmp6.Close()
}

// slurp reads a file of /proc from its beginning; these are a few KiB.
func slurp(f *os.File) (string, error) {
	b := make([]byte, 32<<10)
	n, err := f.ReadAt(b, 0)
	if n > 0 {
		return string(b[:n]), nil
	}
	return "", err
}

// udpFull reads RcvbufErrors and MemErrors in /proc/net/snmp: for what there was no
// room, or no memory.
func udpFull(text string) (sum uint64, known bool) {
	counts := traffic.NetTable(text)
	full, known := counts["Udp.RcvbufErrors"]
	return full + counts["Udp.MemErrors"], known
}

// udp6Full reads them in /proc/net/snmp6.
func udp6Full(text string) (sum uint64) {
	counts := traffic.NetColumns(text)
	return counts["Udp6RcvbufErrors"] + counts["Udp6MemErrors"]
}

// knowFull gives sockets of one caller the count of their namespace.
func knowFull(sockets []*socket) (done func()) {
	if len(sockets) == 0 {
		return func() {}
	}
	f := openFullBuffers(sockets[0].fd)
	if f == nil {
		return func() {}
	}
	for _, s := range sockets {
		s.space = f
	}
	return f.close
}
