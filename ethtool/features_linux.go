package ethtool

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Columns of struct ethtool_get_features_block, whose fourth says what no device can change.
const (
	wantedColumn = 1
	activeColumn = 2
)

// Features reads which of the kernel's features are on at a device, by the kernel's own names.
func (s *Socket) Features(device string) (map[string]bool, error) {
	return s.column(device, activeColumn)
}

// Wanted reads which features somebody wants on at a device, by the kernel's own names. Those that the device cannot have
// now, for want of others or because of its other end, are on as soon as it can (netdev_get_wanted_features in linux/netdevice.h).
func (s *Socket) Wanted(device string) (map[string]bool, error) {
	return s.column(device, wantedColumn)
}

func (s *Socket) column(device string, column int) (map[string]bool, error) {
	names, err := s.names(device, setFeatures)
	if err != nil {
		return nil, err
	}
	// struct ethtool_gfeatures: command, number of blocks, and of each block of 32 features what is available, wanted, active and fixed
	blocks := (len(names) + 31) / 32
	features := command(8+16*blocks, unix.ETHTOOL_GFEATURES, uint32(blocks))
	if err := s.ask(device, features); err != nil {
		return nil, err
	}
	on := make(map[string]bool, len(names))
	for i, name := range names {
		if name != "" {
			on[name] = get(features, 2+4*(i/32)+column)>>(i%32)&1 != 0
		}
	}
	return on, nil
}

// Change has features wanted on or off. The kernel may decline in silence: who has to know reads them again. What a device
// cannot change now stays as it was wanted (ethtool_set_features in net/ethtool/ioctl.c).
func (s *Socket) Change(device string, features map[string]bool) error {
	names, err := s.names(device, setFeatures)
	if err != nil {
		return err
	}
	// struct ethtool_sfeatures: command, number of blocks, and of each block which features are meant and whether they are to be on
	blocks := (len(names) + 31) / 32
	change := command(8+8*blocks, unix.ETHTOOL_SFEATURES, uint32(blocks))
	known := 0
	for i, name := range names {
		on, meant := features[name]
		if name == "" || !meant {
			continue
		}
		known++
		valid, requested := 2+2*(i/32), 3+2*(i/32)
		put(change, valid, get(change, valid)|1<<(i%32))
		if on {
			put(change, requested, get(change, requested)|1<<(i%32))
		}
	}
	if known != len(features) {
		return fmt.Errorf("this kernel does not know all features of %v", features)
	}
	return s.ask(device, change)
}
