package testbed

import "fmt"

// Channels are how many queues with an interrupt of their own an interface has, and may be given, as its driver
// counts them (struct ethtool_channels in linux/ethtool.h). A combined one receives and sends. The zero value is of a
// driver that does not say, and takes no other number.
type Channels struct {
	Receive      int `json:"receive,omitempty"`
	Send         int `json:"send,omitempty"`
	Combined     int `json:"combined,omitempty"`
	MostReceive  int `json:"most_receive,omitempty"`
	MostSend     int `json:"most_send,omitempty"`
	MostCombined int `json:"most_combined,omitempty"`
}

// With are those by which an interface has so many receive and so many send queues, and false if it cannot have them.
// Drivers differ in what they combine with what (bnxt takes either combined ones or others), so that what has as many
// of both is combined, where that is to be had, and what has not is made of single ones, where there are no combined.
func (c Channels) With(receive, send int) (Channels, bool) {
	same := c
	same.Receive, same.Send, same.Combined = 0, 0, 0
	switch {
	case receive < 1 || send < 1:
		return c, false
	case c.Receive+c.Combined == receive && c.Send+c.Combined == send:
		return c, true
	case receive == send && receive <= c.MostCombined:
		same.Combined = receive
		return same, true
	case c.MostCombined == 0 && receive <= c.MostReceive && send <= c.MostSend:
		same.Receive, same.Send = receive, send
		return same, true
	}
	return c, false
}

// Possible tells whether a host may have them.
func (c Channels) Possible() bool {
	for _, n := range []int{c.Receive, c.Send, c.Combined, c.MostReceive, c.MostSend, c.MostCombined} {
		if n < 0 || n > maxQueues {
			return false
		}
	}
	return true
}

// MostToReceive and MostToSend are how many queues it may have for either.
func (c Channels) MostToReceive() int { return max(c.MostReceive, c.MostCombined) }
func (c Channels) MostToSend() int    { return max(c.MostSend, c.MostCombined) }

// String names the numbers as ethtool(8) does.
func (c Channels) String() string {
	return fmt.Sprintf("rx %d, tx %d, combined %d", c.Receive, c.Send, c.Combined)
}
