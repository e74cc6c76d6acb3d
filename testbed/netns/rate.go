package netns

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"

	"windtunnel/testbed"
)

// The token bucket's depth and its queue, beyond what one super-packet takes: tbf cuts what is longer than the
// bucket is deep, and drops what is cut no further (tbf_enqueue in net/sched/sch_tbf.c).
const (
	leastDepth   = 128 << 10 // bytes
	depthSeconds = 0.001
	queueSeconds = 0.010
)

// setRate gives a device a token bucket, or takes it off.
func setRate(h *handle, device netlink.Link, p testbed.Interface) error {
	have, err := bucket(h, device)
	switch {
	case err != nil:
		return err
	case p.BitsPerSecond == 0 && have == nil:
		return nil
	case p.BitsPerSecond == 0:
		if err := h.QdiscDel(have); err != nil {
			return fmt.Errorf("taking the token bucket off: %w", err)
		}
		return nil
	}
	bytes := p.BitsPerSecond / 8
	depth := math.Max(leastDepth, bytes*depthSeconds)
	// The depth is told as the time that it takes at the rate, in the kernel's ticks of 64 ns.
	const tick = 64e-9
	wanted := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: device.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       uint64(bytes), Buffer: uint32(math.Min(depth/bytes/tick, math.MaxUint32)),
		Limit: uint32(math.Min(depth+bytes*queueSeconds, math.MaxUint32)),
	}
	if err := h.QdiscReplace(wanted); err != nil {
		return fmt.Errorf("giving it a token bucket (tbf, CONFIG_NET_SCH_TBF): %w", err)
	}
	return nil
}

// bucket is the token bucket of a device, nil if it has none.
func bucket(h *handle, device netlink.Link) (*netlink.Tbf, error) {
	all, err := h.QdiscList(device)
	if err != nil {
		return nil, fmt.Errorf("reading how %s queues: %w", device.Attrs().Name, err)
	}
	for _, one := range all {
		if tbf, ok := one.(*netlink.Tbf); ok {
			return tbf, nil
		}
	}
	return nil, nil
}

func rateDifference(h *handle, device netlink.Link, p testbed.Interface) error {
	have, err := bucket(h, device)
	if err != nil {
		return err
	}
	rate := uint64(0)
	if have != nil {
		rate = have.Rate
	}
	if rate != uint64(p.BitsPerSecond/8) {
		return fmt.Errorf("its token bucket has %d bytes a second, not %.0f", rate, math.Floor(p.BitsPerSecond/8))
	}
	return nil
}

// bucketCounts is what a device's token bucket let through and dropped, in packets; what it never cut counts as one.
func bucketCounts(h *handle, device netlink.Link) (passed, dropped uint64, err error) {
	have, err := bucket(h, device)
	if err != nil {
		return 0, 0, err
	}
	if have == nil || have.Statistics == nil || have.Statistics.Basic == nil || have.Statistics.Queue == nil {
		return 0, 0, fmt.Errorf("%s has no token bucket that counts", device.Attrs().Name)
	}
	return uint64(have.Statistics.Basic.Packets), uint64(have.Statistics.Queue.Drops), nil
}
