package ethtool

import "golang.org/x/sys/unix"

// Channels are how many queues with an interrupt of their own a device has, and may have.
type Channels struct {
	MaxReceive, MaxTransmit, MaxOther, MaxCombined uint32
	Receive, Transmit, Other, Combined             uint32
}

// Channels asks a device for its channels.
func (s *Socket) Channels(device string) (Channels, error) {
	// struct ethtool_channels: command, then the fields above in their order
	c := command(36, unix.ETHTOOL_GCHANNELS)
	if err := s.ask(device, c); err != nil {
		return Channels{}, err
	}
	return Channels{get(c, 1), get(c, 2), get(c, 3), get(c, 4), get(c, 5), get(c, 6), get(c, 7), get(c, 8)}, nil
}
