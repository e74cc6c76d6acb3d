package stream

import (
	"errors"
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// leastKernelRate is in bit/s under which the kernel is not asked to pace: two packets of so many bytes, its least burst, then take
// longer than a thread's patience. Over loopback, where they have 64 KiB, it is 10 Mbit/s.
func leastKernelRate(packet int) float64 { return max(1e6, 2*8*float64(packet)/patience.Seconds()) }

// packetSize is how many bytes one of the flow's packets has at most, a segment where that is not known.
func packetSize(f *flow) int {
	if info := f.info(); info != nil {
		return max(segment, info.PathMTU)
	}
	return segment
}

// aheadSeconds is how much of the rate may wait in the send buffer.
const aheadSeconds = 0.05

// longestAhead is how long, in seconds, messages may wait there that the kernel has
// taken and not sent: a sender has counted them, and a thread with many of them seems
// to stall. A bucket hands over pieces.
const longestAhead = 0.1

// pace makes every flow keep the rate. The kernel paces TCP by itself where the
// outgoing device has no qdisc that does (since Linux 4.13; commit 218af599fa63).
func pace(flows []*flow, c Config) (pacing, error) {
	if c.BitsPerSecond == 0 {
		return pacing{}, nil
	}
	if c.Pacing == PaceBucket {
		return paceByBucket(flows, c, "asked for"), nil
	}
	packet := packetSize(flows[0])
	if least := leastKernelRate(packet); c.Pacing == "" && c.BitsPerSecond < least {
		return paceByBucket(flows, c, fmt.Sprintf("the kernel's bursts are too long under %.3g bit/s", least)), nil
	}
	if takes := 8 * 2 * float64(c.Message) / c.BitsPerSecond; c.Pacing == "" && takes > longestAhead {
		return paceByBucket(flows, c, fmt.Sprintf("the kernel takes whole messages, of which two would wait for %.2g s", takes)), nil
	}
	rate := uint64(c.BitsPerSecond / 8)
	for _, f := range flows {
		if err := unix.SetsockoptUint64(int(f.fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate); err != nil {
			if c.Pacing == PaceKernel {
				return pacing{}, fmt.Errorf("setting the pacing rate (SO_MAX_PACING_RATE): %w", err)
			}
			return paceByBucket(flows, c, "the kernel refuses SO_MAX_PACING_RATE"), nil
		}
		if err := unix.SetsockoptInt(int(f.fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, ahead(c.BitsPerSecond, c.Message)); err != nil {
			return pacing{}, fmt.Errorf("bounding what waits to be sent (TCP_NOTSENT_LOWAT): %w", err)
		}
	}
	method, why := kernelPacer(flows[0])
	return pacing{method: method, why: why, burst: kernelBurst(c.BitsPerSecond, packet)}, nil
}

// ahead is how many bytes may wait to be sent: little, so that what was handed over was nearly sent, but enough for a thread that
// has to wait for its CPU, because the kernel does not catch up. The option is an int32; what does not fit would come out small.
func ahead(bitsPerSecond float64, message int) int {
	return max(int(min(bitsPerSecond/8*aheadSeconds, math.MaxInt32)), min(2*message, math.MaxInt32))
}

// kernelBurst is what TCP may send at once, in bytes: a millisecond of the rate
// (tcp_tso_autosize in net/ipv4/tcp_output.c) up to a GSO packet, twice that when
// a timer was late, two packets at the least, and the first ten segments of a connection.
func kernelBurst(bitsPerSecond float64, packet int) int {
	return max(2*min(int(bitsPerSecond/8/1000), 64<<10), 2*packet, 10*segment)
}

// kernelPacer says whether fq or TCP itself spaces the flow's packets.
func kernelPacer(f *flow) (method, why string) {
	device, kinds, err := outgoingQdiscs(int(f.fd))
	switch {
	case err != nil:
		return methodTCP, "the outgoing device's qdisc is not known: " + err.Error()
	case kinds["fq"]:
		return methodFQ, ""
	}
	return methodTCP, device + " has no fq"
}

func outgoingQdiscs(fd int) (device string, kinds map[string]bool, err error) {
	address, err := unix.Getpeername(fd)
	if err != nil {
		return "", nil, err
	}
	return qdiscsTo(address)
}

// qdiscsTo are those of the device by which packets leave to an address.
func qdiscsTo(address unix.Sockaddr) (device string, kinds map[string]bool, err error) {
	index, err := outgoingLink(address)
	if err != nil {
		return "", nil, fmt.Errorf("asking for the route: %w", err)
	}
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return "", nil, fmt.Errorf("asking for the device: %w", err)
	}
	qdiscs, err := netlink.QdiscList(link)
	if err != nil {
		return "", nil, fmt.Errorf("listing qdiscs: %w", err)
	}
	kinds = map[string]bool{}
	for _, q := range qdiscs {
		kinds[q.Type()] = true
	}
	return link.Attrs().Name, kinds, nil
}

// outgoingLink is the device's index. A link-local address names it: the route to that may be any interface's.
func outgoingLink(address unix.Sockaddr) (index int, err error) {
	if a, is := address.(*unix.SockaddrInet6); is && a.ZoneId != 0 {
		return int(a.ZoneId), nil
	}
	routes, err := netlink.RouteGet(traffic.IPOf(address).AsSlice())
	if err != nil {
		return 0, err
	}
	if len(routes) == 0 {
		return 0, errors.New("there is none")
	}
	return routes[0].LinkIndex, nil
}
