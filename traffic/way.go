package traffic

import "windtunnel/result"

// Way is one direction of a pair's traffic.
type Way struct {
	Sender, Receiver result.PairEnd
	Back             bool // from the end that was reached to the one that connected
}

// Ways are the directions in which a pair's traffic flowed, the forward one
// first; at least one. sender is the end that connected: a load that flows back
// has its sender's figures at the other end, or in both ends' opposites.
func Ways(sender, receiver result.PairEnd) []Way {
	if sender.Offered == nil && receiver.Offered != nil {
		return []Way{{Sender: receiver, Receiver: sender, Back: true}}
	}
	forth := Way{Sender: sender, Receiver: receiver}
	if sender.Opposite == nil || receiver.Opposite == nil {
		return []Way{forth}
	}
	back := Way{Sender: *receiver.Opposite, Receiver: *sender.Opposite, Back: true}
	if sender.Bytes == 0 && sender.Packets == 0 {
		return []Way{back}
	}
	return []Way{forth, back}
}
