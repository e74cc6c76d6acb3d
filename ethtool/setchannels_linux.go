package ethtool

import "golang.org/x/sys/unix"

// SetChannels gives a device so many channels. The most that it may have are not read. Many drivers drop the
// carrier meanwhile.
func (s *Socket) SetChannels(device string, c Channels) error {
	set := command(36, unix.ETHTOOL_SCHANNELS)
	for i, count := range []uint32{c.Receive, c.Transmit, c.Other, c.Combined} {
		put(set, 5+i, count)
	}
	return s.ask(device, set)
}
