package offload

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"windtunnel/vrouter/core"
)

// A device does what rules say, to the letter and no more: the tests' stand-in for hardware.
type device struct {
	target Target
	mtu    map[uint32]int // by ifindex
}

// A parsed header, as far as a device reads it.
type parsed struct {
	data     []byte // from the header's begin to the frame's end
	length   int
	protocol uint8 // what an IPv6 header's extensions lead to
	fragment bool
	extended int // headers between
}

// headerAt reads the header of a kind that the pattern has next; false if there is none such.
func (d device) headerAt(kind Kind, data []byte) (parsed, bool) {
	fixed := map[Kind]int{Eth: 14, IPv4: 20, IPv6: 40, TCP: 20, UDP: 8, ICMP: 0, GRE: 4, MPLS: 4, VXLAN: 8}[kind]
	p := parsed{data: data, length: fixed}
	if d.target == Flower && (kind == TCP || kind == UDP) {
		p.length = min(fixed, len(data)) // its dissector reads what there is; AssumeHeaders is about that
	}
	if len(data) < p.length {
		return p, false
	}
	switch kind {
	case IPv4:
		p.length, p.protocol = int(data[0]&15)*4, data[9]
		p.fragment = binary.BigEndian.Uint16(data[6:])&0x3fff != 0
		return p, data[0]>>4 == 4 && p.length >= 20 && len(data) >= p.length
	case IPv6:
		return d.extensions(p), data[0]>>4 == 6
	}
	return p, true
}

// extensions follows IPv6's. rte_flow's item is the fixed header alone, and says whether a fragment's is
// among those behind.
func (d device) extensions(p parsed) parsed {
	p.protocol = p.data[6]
	next, at := p.protocol, p.length
	for slices.Contains([]uint8{0, 43, 44, 60}, next) && at+8 <= len(p.data) {
		size := (int(p.data[at+1]) + 1) * 8
		if next == 44 {
			p.fragment, size = true, 8
		}
		next, at = p.data[at], at+size
		p.extended++
	}
	if d.target == Flower && at <= len(p.data) {
		p.protocol, p.length = next, at
	}
	return p
}

// field takes bits out of a header.
func field(data []byte, p place) (Bytes, bool) {
	if (p.at+p.width+7)/8 > len(data) {
		return nil, false
	}
	out := make(Bytes, (p.width+7)/8)
	for i := range p.width {
		from, to := p.at+p.width-1-i, len(out)*8-1-i
		if data[from/8]>>(7-from%8)&1 != 0 {
			out[to/8] |= 1 << (7 - to%8)
		}
	}
	return out, true
}

func (f Field) matches(value Bytes) bool {
	for i := range f.Spec {
		if (value[i]^f.Spec[i])&f.Mask[i] != 0 {
			return false
		}
	}
	return true
}

// matches tells whether a frame is one of the rule's.
func (d device) matches(r Rule, frame []byte) bool {
	integrity := map[uint64]uint64{}
	data, level := frame, uint64(0)
	end := len(frame) // of the packet that holds what is read
	for _, item := range r.Pattern {
		if item.Kind == Integrity {
			integrity[item.Fields[0].Spec.uint()] = item.Fields[1].Mask.uint()
			continue
		}
		p, there := d.headerAt(item.Kind, data)
		if !there || !d.matchesItem(item, p) {
			return false
		}
		if item.Kind == IPv4 || item.Kind == IPv6 {
			level++
			if integrity[level] != 0 && !headerRight(p.data) || d.target == Flower && !d.assumed(r, p) {
				return false
			}
			wrapped := level == 1 && slices.ContainsFunc(r.Pattern, func(i Item) bool { return i.Kind == MPLS || i.Kind == VXLAN })
			if wrapped && slices.Contains(r.Assumes, AssumeSource) && !nodeSource(p.data) {
				return false
			}
			last := len(frame) - len(data) + totalOf(p.data)
			if slices.Contains(r.Assumes, AssumeTransport) && (last > end || !transportRight(p, wrapped)) {
				return false
			}
			end = last
		}
		if item.Kind == MPLS && slices.Contains(r.Assumes, AssumeLabelTTL) && p.data[3] == 0 ||
			item.Kind == VXLAN && p.data[0]&8 == 0 && slices.Contains(r.Assumes, AssumeVXLANFlag) {
			return false
		}
		data = data[p.length:]
	}
	return !slices.Contains(r.Assumes, AssumePortMTU) || len(frame)-14 <= d.mtu[r.Ifindex]
}

func (d device) matchesItem(item Item, p parsed) bool {
	for _, f := range item.Fields {
		at, known := layouts[item.Kind][f.Name]
		value, there := field(p.data, at)
		switch {
		case f.Name == "has_frag_ext":
			value, there = bigEndian(map[bool]uint64{true: 1}[p.fragment], 1), true
		case !known:
			panic("no layout has the field " + f.Name)
		case item.Kind == IPv6 && f.Name == "proto":
			value = Bytes{p.protocol}
		}
		if !there || !f.matches(value) {
			return false
		}
	}
	return true
}

// assumed tells whether what rules of flower assume holds of a packet.
func (d device) assumed(r Rule, p parsed) bool {
	if slices.Contains(r.Assumes, AssumeExtensions) && (p.extended > 3 || p.length > 40+128) {
		return false
	}
	want := map[uint8]int{core.ProtocolTCP: 14, core.ProtocolUDP: 8}[p.protocol]
	return !slices.Contains(r.Assumes, AssumeHeaders) || headerRight(p.data) && len(p.data) >= p.length+want
}

// headerRight is what the integrity item asks for: lengths, and IPv4's checksum.
func headerRight(ip []byte) bool {
	if ip[0]>>4 == 6 {
		return int(binary.BigEndian.Uint16(ip[4:]))+40 <= len(ip)
	}
	header, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	return header >= 20 && header <= len(ip) && total >= header && total <= len(ip) && sum(ip[:header]) == 0xffff
}

func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

func setIPv4Sum(ip []byte) {
	header := ip[:int(ip[0]&15)*4]
	binary.BigEndian.PutUint16(header[10:], 0)
	binary.BigEndian.PutUint16(header[10:], ^sum(header))
}

// runs carries a rule's actions out. No frame and no interface: it is dropped; not taken: it is left to
// software.
func (d device) runs(r Rule, frame []byte) (out []byte, ifindex uint32, taken bool) {
	out = slices.Clone(frame)
	for _, a := range r.Actions {
		switch a.Do {
		case Fits:
			if len(out) > a.Bytes {
				return nil, 0, false
			}
		case DecTTL:
			decTTL(out[14:])
		case RawDecap:
			out = out[a.Bytes:]
		case RawEncap:
			out = append(slices.Clone([]byte(a.Header)), out...)
			fill(out, a.Fill)
		case ToPort:
			ifindex = a.Ifindex
		case DropIt:
			return nil, 0, true
		}
	}
	return out, ifindex, true
}

func decTTL(ip []byte) {
	if ip[0]>>4 == 6 {
		ip[7]--
		return
	}
	ip[8]--
	setIPv4Sum(ip)
}

// fill makes lengths of what stands behind.
func fill(frame []byte, fields []Fill) {
	ip := frame[14:]
	for _, f := range fields {
		switch f {
		case FillIPv4Length:
			binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		case FillIPv6Length:
			binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
		case FillUDPLength:
			udp := ip[map[bool]int{true: 40, false: 20}[ip[0]>>4 == 6]:]
			binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
		}
	}
	if slices.Contains(fields, FillIPv4Checksum) {
		setIPv4Sum(ip)
	}
}

// opened writes, into what the core made, what the rule leaves open as the device has it.
func opened(r Rule, want, got []byte) []byte {
	if len(r.Open) == 0 || len(want) != len(got) {
		return want
	}
	want = slices.Clone(want)
	take := func(at, bytes int) { copy(want[at:at+bytes], got[at:]) }
	for _, o := range r.Open {
		switch o {
		case OpenUDPSource:
			take(14+map[bool]int{true: 40, false: 20}[want[14]>>4 == 6], 2)
		case OpenIPv4ID:
			take(18, 2)
		case OpenIPv4DF:
			take(20, 2)
		case OpenIPv6Flow:
			take(16, 2)
		}
	}
	if want[14]>>4 == 4 {
		setIPv4Sum(want[14:])
	}
	return want
}

// sample makes a frame that the rule matches, or nearly: bits that it does not ask for are random.
func sample(random *rand.Rand, r Rule, long bool) []byte {
	var frame []byte
	var lengths []int // where IP headers begin
	for i, item := range r.Pattern {
		if item.Kind == Integrity {
			continue
		}
		if item.Kind == IPv4 || item.Kind == IPv6 {
			lengths = append(lengths, len(frame))
		}
		inTunnel := len(lengths) == 1 && i+2 < len(r.Pattern) // an outer header has no options
		frame = append(frame, header(random, item, inTunnel)...)
	}
	payload := random.IntN(200)
	if long { // about as much as may be sent
		payload = 1200 + random.IntN(400)
	}
	frame = append(frame, make([]byte, payload)...)
	for i := len(lengths) - 1; i >= 0; i-- {
		ip := frame[lengths[i]:]
		setUDPLength(ip)
		if ip[0]>>4 == 6 {
			binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
			continue
		}
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		setIPv4Sum(ip)
	}
	return frame
}

// setUDPLength writes the length of the UDP header behind an IP header, if there is one.
func setUDPLength(ip []byte) {
	at, protocol := int(ip[0]&15)*4, ip[9]
	if ip[0]>>4 == 6 {
		at, protocol = 40, ip[6]
	}
	if protocol == core.ProtocolUDP {
		binary.BigEndian.PutUint16(ip[at+4:], uint16(len(ip)-at))
	}
}

// header is a random header of an item.
func header(random *rand.Rand, item Item, bare bool) []byte {
	length := map[Kind]int{Eth: 14, IPv4: 20, IPv6: 40, TCP: 20, UDP: 8, ICMP: 8, GRE: 4, MPLS: 4, VXLAN: 8}[item.Kind]
	h := make([]byte, length)
	for i := range h {
		h[i] = byte(random.Uint32())
	}
	switch item.Kind {
	case Eth:
		h[6] &^= 1
	case IPv4:
		h[0] = 0x45
	case IPv6:
		h[0] = 0x60 | h[0]&15
	case TCP:
		if h[12] = 0x50; random.IntN(2) == 0 {
			h[12] = 0x60
			h = append(h, 2, 4, 0xff, 0xff) // the largest segment size
		}
	case VXLAN:
		h[0] |= 8
	case UDP: // a tunnel's, unless the rule says otherwise
		if random.IntN(3) == 0 {
			binary.BigEndian.PutUint16(h[2:], []uint16{portMPLSoUDP, portVXLAN}[random.IntN(2)])
		}
	}
	for _, f := range item.Fields {
		if at, known := layouts[item.Kind][f.Name]; known {
			put(h, at, f)
		}
	}
	if _, withHeader := of([]Item{item}, IPv4, "version_ihl"); item.Kind == IPv4 && !withHeader && !bare && random.IntN(4) == 0 {
		h[0] = 0x46
		h = append(h, 1, 1, 1, 0)
	}
	return h
}

func put(data []byte, p place, f Field) {
	for i := range p.width {
		at, from := p.at+p.width-1-i, len(f.Spec)*8-1-i
		if f.Mask[from/8]>>(7-from%8)&1 == 0 {
			continue
		}
		bit := byte(1) << (7 - at%8)
		data[at/8] &^= bit
		if f.Spec[from/8]>>(7-from%8)&1 != 0 {
			data[at/8] |= bit
		}
	}
}

// damaged changes a frame so that its header may say something else, or be wrong.
func damaged(random *rand.Rand, frame []byte) []byte {
	frame = slices.Clone(frame)
	for range 1 + random.IntN(3) {
		at := random.IntN(min(len(frame), 100))
		switch random.IntN(4) {
		case 0:
			frame[at] = byte(random.Uint32())
		case 1:
			frame[at] ^= 1 << random.IntN(8)
		case 2:
			frame = frame[:max(14, len(frame)-random.IntN(40))]
		case 3:
			frame = append(frame, make([]byte, random.IntN(40))...)
		}
	}
	if len(frame) > 34 && frame[14] == 0x45 && random.IntN(2) == 0 { // or most would only be wrong sums
		setIPv4Sum(frame[14:])
	}
	return frame
}
