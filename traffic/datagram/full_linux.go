package datagram

import (
	"os"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// fullBuffers counts the datagrams for which the sockets of one network namespace had
// no room, and those whose checksum was wrong. A socket's own count (sk_drops) holds
// both (__udp_enqueue_schedule_skb and udp_queue_rcv_one_skb in net/ipv4/udp.c), and
// only the first are the receiver's doing.
type fullBuffers struct {
	snmp, snmp6 *os.File // nil: not to be read
	before      udpTurnedAway
}

// udpTurnedAway are a namespace's datagrams that no socket got, since it was made.
type udpTurnedAway struct{ full, wrong uint64 }

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

// of is how many of a socket's drops there was no room for: the others are at most what
// the namespace counts of wrong checksums, and these at most what it counts as full.
func (f *fullBuffers) of(dropped uint64) (full uint64, known bool) {
	now, known := f.count()
	wrong := now.wrong - min(now.wrong, f.before.wrong)
	most := now.full - min(now.full, f.before.full)
	return min(dropped-min(dropped, wrong), most), known
}

// count sums those of IPv4 and IPv6; a kernel without IPv6 has no snmp6.
func (f *fullBuffers) count() (sum udpTurnedAway, known bool) {
	text, err := slurp(f.snmp)
	if err != nil {
		return sum, false
	}
	sum, known = turnedAway(text)
	if f.snmp6 != nil {
		if text, err = slurp(f.snmp6); err != nil {
			return sum, false
		}
		six := turnedAway6(text)
		sum.full += six.full
		sum.wrong += six.wrong
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

// turnedAway reads /proc/net/snmp. Where there was no memory there was no room either.
func turnedAway(text string) (sum udpTurnedAway, known bool) {
	counts := traffic.NetTable(text)
	full, known := counts["Udp.RcvbufErrors"]
	return udpTurnedAway{full + counts["Udp.MemErrors"], counts["Udp.InCsumErrors"]}, known
}

// turnedAway6 reads /proc/net/snmp6.
func turnedAway6(text string) udpTurnedAway {
	counts := traffic.NetColumns(text)
	return udpTurnedAway{counts["Udp6RcvbufErrors"] + counts["Udp6MemErrors"], counts["Udp6InCsumErrors"]}
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
