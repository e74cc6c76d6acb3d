package measure

import (
	"errors"
	"fmt"
	"regexp"

	"windtunnel/ethtool"
)

// virtualProbe reads how a virtual pair's end counts: the bytes of its packets are those of Ethernet frames, or of what these carry.
type virtualProbe struct {
	tool   *ethtool.Socket
	device string
}

// openVirtual opens the probe on a thread of the device's stack; nil: its driver is another.
func openVirtual(device string) (*virtualProbe, error) {
	tool, err := ethtool.Open()
	if err != nil {
		return nil, fmt.Errorf("opening an ethtool socket: %w", err)
	}
	p := &virtualProbe{tool, device}
	if _, err := p.read(); errors.Is(err, errNotVirtual) {
		p.close()
		return nil, nil
	}
	return p, nil
}

// virtualReading is in packets.
type virtualReading struct {
	napi uint64 // received by NAPI
	xdp  uint64 // sent as frames of XDP
}

var errNotVirtual = errors.New("the device is no end of a virtual pair")

func (p *virtualProbe) read() (virtualReading, error) {
	counters, err := p.tool.Stats(p.device)
	if err != nil {
		return virtualReading{}, fmt.Errorf("reading the driver's counters of %s: %w", p.device, err)
	}
	return virtualCounters(counters)
}

func (p *virtualProbe) close() { p.tool.Close() }

// The names of a virtual pair's counters, and of no other driver's (veth_get_strings in drivers/net/veth.c).
var (
	byNAPI = regexp.MustCompile(`^rx_queue_[0-9]+_xdp_packets$`)
	byXDP  = regexp.MustCompile(`^tx_queue_[0-9]+_xdp_xmit$`)
)

func virtualCounters(counters map[string]uint64) (sum virtualReading, err error) {
	found := 0
	for name, n := range counters {
		switch {
		case byNAPI.MatchString(name):
			sum.napi += n
			found |= 1
		case byXDP.MatchString(name):
			sum.xdp += n
			found |= 2
		}
	}
	if found != 3 {
		return virtualReading{}, errNotVirtual
	}
	return sum, nil
}

// virtualBetween subtracts two readings of one end.
func virtualBetween(before, after reading[virtualReading]) (napi, xdp *uint64, err error) {
	if err := firstError(before.err, after.err); err != nil {
		return nil, nil, err
	}
	var d difference
	n, x := d.of(before.value.napi, after.value.napi), d.of(before.value.xdp, after.value.xdp)
	if d.err != nil {
		return nil, nil, d.err
	}
	return &n, &x, nil
}
