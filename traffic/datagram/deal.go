package datagram

import (
	"net"
	"net/netip"

	"windtunnel/traffic"
)

// deal gives the flows to threads: senders in turn; receivers by socket, because
// one thread reads a socket.
func (e *Engine) deal(flows []Flow, sockets map[*net.UDPConn]*socket) error {
	e.outs, e.ins = make([]*outflow, len(flows)), make([]*tally, len(flows))
	e.homes, e.first = make([]*latch, len(flows)), make([]*inlet, len(flows))
	var sends []int
	inlets, order := map[*socket]*inlet{}, []*inlet{}
	for i, f := range flows {
		s := sockets[f.Conn]
		if f.Role == traffic.Send {
			sends = append(sends, i)
			out, err := newOutflow(f, s, e.config)
			if err != nil {
				return err
			}
			e.outs[i] = out
			continue
		}
		in := inlets[s]
		if in == nil {
			in = newInlet(s, e.config)
			inlets[s], order = in, append(order, in)
			e.first[i] = in
		}
		e.ins[i] = in.add(f, e.config)
	}
	for _, i := range sends { // who sends by a socket, too, has no other name for its peer
		if in := inlets[e.outs[i].socket]; in != nil {
			in.paired = false
		}
	}
	if err := e.dealSenders(sends); err != nil {
		return err
	}
	return e.dealReceivers(order)
}

func (e *Engine) dealSenders(flows []int) error {
	n := min(e.config.Threads, len(flows))
	e.sending = n
	c := e.config
	for i, b := range traffic.Budgets(len(flows), traffic.Allowance{Limit: c.limit(), Each: c.LimitEach, Later: c.LimitLater, First: c.LimitFirst}) {
		e.outs[flows[i]].budget = b
	}
	for i := range n {
		t := e.newThread(i)
		var hand []*outflow
		for j := i; j < len(flows); j += n {
			hand = append(hand, e.outs[flows[j]])
			e.homes[flows[j]] = &t.latch
		}
		t.send = newSender(e, t, hand)
	}
	return nil
}

// LimitFrom lets the limits of a Config with LimitLater count from a reading on: the datagrams of each flow.
func (e *Engine) LimitFrom(sent []uint64) {
	budgets := make([]*traffic.Budget, len(e.outs))
	for i, out := range e.outs {
		if out != nil {
			budgets[i] = out.budget
		}
	}
	traffic.Bound(budgets, sent, e.config.limit())
}

func (e *Engine) dealReceivers(inlets []*inlet) error {
	n := len(inlets)
	if oneThreadReadsMany {
		n = min(e.config.Threads, n)
	}
	home := map[*tally]*latch{}
	for i := range n {
		t := e.newThread(e.sending + i)
		var hand []*inlet
		for j := i; j < len(inlets); j += n {
			hand = append(hand, inlets[j])
			for _, account := range inlets[j].accounts {
				home[account] = &t.latch
			}
		}
		r, err := newReceiver(e, t, hand)
		if err != nil {
			return err
		}
		t.receive = r
	}
	for i, account := range e.ins {
		if account != nil {
			e.homes[i] = home[account]
		}
	}
	return nil
}

func (e *Engine) newThread(i int) *thread {
	t := &thread{engine: e, cpu: traffic.CPUOf(e.config.CPUs, i)}
	e.threads = append(e.threads, t)
	return t
}

// maxTable is how large a flow's number may be to be looked up in a table.
const maxTable = 1 << 16

// inlet is a socket that is read, and the flows that come in by it.
type inlet struct {
	socket   *socket
	codec    Codec
	long     *longHeader  // the codec, where it is ours
	short    *shortHeader // likewise
	message  int
	payload  []byte // what must follow the header; nil: not compared
	accounts []*tally
	only     *tally
	table    []*tally
	byID     map[uint32]*tally
	byPeer   map[netip.AddrPort]*tally
	peers    map[netip.AddrPort]bool // who has sent intact datagrams, at most maxPeers
	paired   bool                    // the socket is connected to the only flow's peer, whose datagrams nobody else can make
	apart    bool                    // it was, until nothing came for a while
	silences int                     // calls in turn that brought nothing
	patience int                     // of them, until it hears everybody
}

// maxPeers bounds what is remembered of senders.
const maxPeers = 1 << 12

func newInlet(s *socket, c Config) *inlet {
	in := &inlet{
		socket: s, codec: c.Codec, message: c.Message, patience: c.silences(),
		byID: map[uint32]*tally{}, byPeer: map[netip.AddrPort]*tally{}, peers: map[netip.AddrPort]bool{},
	}
	switch own := c.Codec.(type) {
	case longHeader:
		in.long = &own
	case shortHeader:
		in.short = &own
	}
	if c.Verify && c.Codec != nil {
		in.payload = template(c.Message, c.Payload)[c.Codec.Size():]
	}
	return in
}

// apartAfter calls in turn that patience ended, the receiver hears everybody again until its sender's next datagram: a translator of
// addresses on the way forgets who says nothing for a while (RFC 4787, section 4.3), and lets the next come from another port. One that was
// restarted does so amid traffic: of a flow that brings fastFlow datagrams in the time of a call, one such call is enough.
const (
	apartAfter = 5
	fastFlow   = 10
)

// silences is how many of them it takes.
func (c Config) silences() int {
	if each := c.packetsPerSecond() * patience.Seconds(); each == 0 || each >= fastFlow {
		return 1
	}
	return apartAfter
}

// add lets a flow come in by the socket.
func (in *inlet) add(f Flow, c Config) *tally {
	window, remember := c.Window, c.remember
	if c.Codec == nil {
		window, remember = 0, 0
	}
	account := newTally(window, remember, c.FirstSeq, in.short != nil)
	in.accounts = append(in.accounts, account)
	in.only = account
	if len(in.accounts) > 1 {
		in.only = nil
	}
	if f.Peer.IsValid() {
		in.byPeer[unmapped(f.Peer)] = account
		in.peers[unmapped(f.Peer)] = true
	}
	if f.Source.IsValid() {
		in.peers[unmapped(f.Source)] = true
		in.paired = in.socket.connected && in.only != nil && (in.long != nil || in.short != nil)
	}
	in.byID[f.ID] = account
	if f.ID < maxTable {
		for len(in.table) <= int(f.ID) {
			in.table = append(in.table, nil)
		}
		in.table[f.ID] = account
	}
	return account
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// find returns the flow of a datagram, nil for none.
func (in *inlet) find(s Stamp) *tally {
	if in.only != nil {
		return in.only
	}
	if s.Flow < uint32(len(in.table)) {
		return in.table[s.Flow]
	}
	return in.byID[s.Flow]
}
