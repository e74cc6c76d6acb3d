package ethtool

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Indirection is the table by which a device spreads received packets: the queue for each remainder of their hash. A
// driver without one refuses with EOPNOTSUPP.
func (s *Socket) Indirection(device string) ([]uint32, error) {
	// struct ethtool_rxfh_indir: command, size, the queues. The size 0 asks for that alone.
	size := command(8, unix.ETHTOOL_GRXFHINDIR)
	if err := s.ask(device, size); err != nil {
		return nil, err
	}
	n, err := bounded(get(size, 1))
	if err != nil || n == 0 {
		return nil, err
	}
	table := command(8+4*n, unix.ETHTOOL_GRXFHINDIR, uint32(n))
	if err := s.ask(device, table); err != nil {
		return nil, err
	}
	if now := get(table, 1); now != uint32(n) {
		return nil, fmt.Errorf("its table had %d places and then %d: another program changed its queues", n, now)
	}
	queues := make([]uint32, n)
	for i := range queues {
		queues[i] = get(table, 2+i)
	}
	return queues, nil
}

// SetIndirection sets that table, which has as many places as before. None makes it the driver's own again, which follows
// the number of queues; any other keeps those that it names from being taken away (ethtool_set_channels in net/ethtool/ioctl.c).
func (s *Socket) SetIndirection(device string, queues []uint32) error {
	table := command(8+4*len(queues), unix.ETHTOOL_SRXFHINDIR, uint32(len(queues)))
	for i, queue := range queues {
		put(table, 2+i, queue)
	}
	return s.ask(device, table)
}
