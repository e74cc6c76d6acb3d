package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"windtunnel/ethtool"
)

// queueProbe reads what a device's driver counts of each receive queue (ethtool -S).
type queueProbe struct {
	tool   *ethtool.Socket
	device string
}

// openQueues opens the probe of a device with several receive queues, on a thread of its stack; nil: it has one,
// whose packets are the link's.
func openQueues(sysfs, device string) (*queueProbe, error) {
	if _, err := os.Stat(filepath.Join(sysfs, "class/net", device, "queues/rx-1")); err != nil {
		return nil, nil
	}
	tool, err := ethtool.Open()
	if err != nil {
		return nil, fmt.Errorf("opening an ethtool socket: %w", err)
	}
	return &queueProbe{tool, device}, nil
}

func (p *queueProbe) read() ([]uint64, error) {
	counters, err := p.tool.Stats(p.device)
	if err != nil {
		return nil, fmt.Errorf("reading the driver's counters of %s: %w", p.device, err)
	}
	return queueCounters(counters)
}

func (p *queueProbe) close() { p.tool.Close() }

// queueNames are how drivers call a receive queue's packets: most by the first (ixgbe, igb, virtio_net), a
// virtual pair, which counts under this name all that its NAPI receives, by the second (veth_xdp_rcv in
// drivers/net/veth.c), then mlx5, i40e and ena.
var queueNames = []*regexp.Regexp{
	regexp.MustCompile(`^rx_queue_([0-9]+)_packets$`),
	regexp.MustCompile(`^rx_queue_([0-9]+)_xdp_packets$`),
	regexp.MustCompile(`^rx_?([0-9]+)_packets$`),
	regexp.MustCompile(`^rx-([0-9]+)\.packets$`),
	regexp.MustCompile(`^queue_([0-9]+)_rx_cnt$`),
}

// maxQueueNumber bounds what a driver's names make the probe keep.
const maxQueueNumber = 4096

// queueCounters finds the packets of each receive queue by the first of the names that the driver uses.
func queueCounters(counters map[string]uint64) ([]uint64, error) {
	for _, name := range queueNames {
		var queues []uint64
		for counter, n := range counters {
			match := name.FindStringSubmatch(counter)
			if match == nil {
				continue
			}
			i, err := strconv.Atoi(match[1])
			if err != nil || i >= maxQueueNumber {
				continue
			}
			for len(queues) <= i {
				queues = append(queues, 0)
			}
			queues[i] = n
		}
		if len(queues) > 0 {
			return queues, nil
		}
	}
	return nil, errors.New("the driver counts no packets by receive queue")
}

// queuesBetween subtracts two readings of the same queues.
func queuesBetween(before, after reading[[]uint64]) ([]uint64, error) {
	if err := firstError(before.err, after.err); err != nil {
		return nil, err
	}
	if len(before.value) != len(after.value) {
		return nil, fmt.Errorf("the device had %d receive queues and then %d", len(before.value), len(after.value))
	}
	var d difference
	packets := make([]uint64, len(after.value))
	for i := range packets {
		packets[i] = d.of(before.value[i], after.value[i])
	}
	return packets, d.err
}
