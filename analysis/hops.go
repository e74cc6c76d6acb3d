package analysis

import (
	"cmp"
	"maps"
	"slices"

	"windtunnel/result"
)

// Hop is one place on a cell's way that counts packets: a worker, an interface, a switch. Counts are a trial's means, in
// packets as the place saw them: one that is cut or joined later (TSO, GRO) is one there, and several elsewhere.
type Hop struct {
	Node     string
	Place    string // "sender eth0", "vrouter@a"
	Kind     HopKind
	Received float64
	Sent     float64
	Drops    map[string]float64 // by name, those that counted any
	Trials   int                // whose means these are
	// Settings are what an interface was set to in the last of them, as the kernel said; nil: not known, or it is none.
	Settings *result.LinkSettings
	rank     int // on the way
}

// HopKind is what counts.
type HopKind string

// The kinds of hops. Of switches alone it is known that what they received and did not send was dropped: interfaces
// count either direction.
const (
	HopSender    HopKind = "sender"
	HopReceiver  HopKind = "receiver"
	HopInterface HopKind = "interface"
	HopSwitch    HopKind = "switch"
)

// Unaccounted are the packets of a switch that it neither sent on nor named as dropped.
func (h Hop) Unaccounted() float64 {
	left := h.Received - h.Sent
	for _, n := range h.Drops {
		left -= n
	}
	return left
}

// Account is what became of numbered packets, a trial's means: all that were expected were received, lost, or too late to count.
type Account struct {
	Expected, Received, Lost, Late float64
}

// account is nil where the load numbers no packets, or whoever counted does not tell what was lost.
func account(trials []result.Trial) *Account {
	var sum Account
	n := 0.0
	for _, t := range trials {
		a, numbered := arrivals(t)
		if !numbered || a.Expected == 0 || slices.Contains(a.Untold, result.Loss) {
			continue
		}
		n++
		sum.Expected += float64(a.Expected)
		sum.Lost += float64(a.Lost)
		sum.Late += float64(a.Late)
	}
	if n == 0 {
		return nil
	}
	received := sum.Expected - sum.Lost - sum.Late
	return &Account{Expected: sum.Expected / n, Received: received / n, Lost: sum.Lost / n, Late: sum.Late / n}
}

// hopKey tells hops apart, and rank puts them in the order of the way: the senders' end, their nodes from the inside to
// the wire, the receivers' from the wire to the inside, their end.
type hopKey struct {
	rank        int
	node, place string
	kind        HopKind
}

// The ranks of what lies on a way, those of the receivers' nodes backwards.
const (
	rankSender = iota
	rankSenderEnd
	rankInner
	rankSwitch
	rankWire
	rankOther
	rankFarWire
	rankFarSwitch
	rankFarInner
	rankReceiverEnd
	rankReceiver
)

// hops are the means over the trials in which each place counted.
func (c Cell) hops(trials []result.Trial) []Hop {
	all := map[hopKey]*Hop{}
	for _, t := range trials {
		seen := map[hopKey]bool{}
		add := func(k hopKey, received, sent uint64, drops map[string]uint64) {
			h := all[k]
			if h == nil {
				h = &Hop{Node: k.node, Place: k.place, Kind: k.kind, Drops: map[string]float64{}, rank: k.rank}
				all[k] = h
			}
			if !seen[k] {
				seen[k] = true
				h.Trials++
			}
			h.Received += float64(received)
			h.Sent += float64(sent)
			for name, n := range drops {
				if n > 0 {
					h.Drops[name] += float64(n)
				}
			}
		}
		c.ends(t, add)
		c.between(t, add)
		for name, s := range t.Nodes {
			for _, l := range s.Links {
				if l.Settings != nil {
					all[c.linkKey(name, l)].Settings = l.Settings // between has added it
				}
			}
		}
	}
	var inOrder []Hop
	for _, k := range slices.SortedFunc(maps.Keys(all), hopOrder) {
		inOrder = append(inOrder, all[k].mean())
	}
	return inOrder
}

func hopOrder(a, b hopKey) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.node, b.node), cmp.Compare(a.place, b.place), cmp.Compare(a.kind, b.kind))
}

// mean turns sums into a trial's.
func (h *Hop) mean() Hop {
	n := float64(h.Trials)
	mean := *h
	mean.Received, mean.Sent, mean.Drops = h.Received/n, h.Sent/n, map[string]float64{}
	for name, sum := range h.Drops {
		mean.Drops[name] = sum / n
	}
	return mean
}

type addHop func(k hopKey, received, sent uint64, drops map[string]uint64)

// ends are the workers, where a load has numbered packets. What was lost is not a drop of the receiver's, but what its socket
// had no room for is.
func (c Cell) ends(t result.Trial, add addHop) {
	for i, p := range t.Pairs {
		if i >= len(c.Spec.Pairs) {
			return
		}
		for _, way := range p.Ways() {
			arrived := way.Receiver.Arrived
			if arrived == nil {
				continue
			}
			from, to := c.Spec.Pairs[i].From, c.Spec.Pairs[i].To
			if way.Back {
				from, to = to, from
			}
			add(hopKey{rankSender, from.Node, from.Name(), HopSender}, 0, way.Sender.Packets, nil)
			add(hopKey{rankReceiver, to.Node, to.Name(), HopReceiver}, way.Receiver.Packets, 0,
				map[string]uint64{"socket buffer": arrived.SocketDrops, "late": arrived.Late, "corrupt": arrived.Corrupt})
		}
	}
}

// between are the interfaces and switches of all nodes.
func (c Cell) between(t result.Trial, add addHop) {
	for name, s := range t.Nodes {
		for _, l := range s.Links {
			add(c.linkKey(name, l), l.RxPackets, l.TxPackets,
				map[string]uint64{"rx_dropped": l.RxDropped, "tx_dropped": l.TxDropped, "rx_errors": l.RxErrors, "tx_errors": l.TxErrors})
		}
		for _, w := range s.Switches {
			if w.Error == "" {
				add(hopKey{c.side(name, rankSwitch, rankFarSwitch), name, w.Switch, HopSwitch}, w.Received, w.Sent, w.Drops)
			}
		}
	}
}

// linkKey is an interface's.
func (c Cell) linkKey(node string, l result.LinkSample) hopKey {
	return hopKey{c.linkRank(node, l), node, l.Place + " " + l.Device, HopInterface}
}

// side is the rank at a sender's node or at a receiver's; a node that has both is a sender's.
func (c Cell) side(node string, near, far int) int {
	switch {
	case slices.Contains(c.Spec.Senders(), node):
		return near
	case slices.Contains(c.Spec.Receivers(), node):
		return far
	}
	return rankOther
}

func (c Cell) linkRank(node string, l result.LinkSample) int {
	switch l.Role {
	case result.RoleWire:
		return c.side(node, rankWire, rankFarWire)
	case result.RoleEndpoint:
		for _, p := range c.Spec.Pairs {
			switch l.Place {
			case p.From.Name():
				return rankSenderEnd
			case p.To.Name():
				return rankReceiverEnd
			}
		}
	}
	return c.side(node, rankInner, rankFarInner)
}
