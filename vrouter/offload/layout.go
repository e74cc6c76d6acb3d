package offload

import "net/netip"

// place is where a field is: bits from the header's begin.
type place struct{ at, width int }

// layouts says where the fields are. A field that is not here is no part of the header: has_frag_ext tells
// of an extension header, level and value are the integrity's.
var layouts = map[Kind]map[string]place{
	Eth:   {"dst": {0, 48}, "src": {48, 48}, "type": {96, 16}},
	IPv4:  {"version_ihl": {0, 8}, "tos": {8, 8}, "fragment_offset": {48, 16}, "ttl": {64, 8}, "proto": {72, 8}, "src": {96, 32}, "dst": {128, 32}},
	IPv6:  {"tc": {4, 8}, "proto": {48, 8}, "hop": {56, 8}, "src": {64, 128}, "dst": {192, 128}},
	TCP:   {"src": {0, 16}, "dst": {16, 16}, "flags": {104, 8}},
	UDP:   {"src": {0, 16}, "dst": {16, 16}},
	ICMP:  {},
	GRE:   {"c_rsvd0_ver": {0, 16}, "protocol": {16, 16}},
	MPLS:  {"label": {0, 20}, "s": {23, 1}, "ttl": {24, 8}},
	VXLAN: {"vni": {32, 24}},
}

// Lengths of the headers, without options.
var headerLen = map[Kind]int{Eth: ethLen, IPv4: 20, IPv6: 40, TCP: 20, UDP: 8, ICMP: 8, GRE: 4, MPLS: 4, VXLAN: 8}

// Header is the item as bits of its header, as many bytes each as that has without options: where the mask
// has ones, the header must be spec's. What is no part of a header is not in it.
func (i Item) Header() (spec, mask Bytes) {
	spec, mask = make(Bytes, headerLen[i.Kind]), make(Bytes, headerLen[i.Kind])
	for _, f := range i.Fields {
		if at, there := layouts[i.Kind][f.Name]; there {
			at.put(spec, f.Spec)
			at.put(mask, f.Mask)
		}
	}
	return spec, mask
}

// put writes a field's value into a header that has zeros there.
func (p place) put(header, value Bytes) {
	for i := range p.width {
		from, to := len(value)*8-1-i, p.at+p.width-1-i
		header[to/8] |= value[from/8] >> (7 - from%8) & 1 << (7 - to%8)
	}
}

// Field finds one of an item; false if that does not ask for it.
func (i Item) Field(name string) (Field, bool) { return of([]Item{i}, i.Kind, name) }

// Front is what the rule's packets begin with, as far as the pattern says: so many bytes, zeros where it says
// nothing. Its end must be that of a header.
func (r Rule) Front(bytes int) Bytes {
	var front Bytes
	for _, item := range r.Pattern {
		if len(front) < bytes {
			spec, _ := item.Header()
			front = append(front, spec...)
		}
	}
	return front
}

// Bits of rte_flow's integrity item: struct rte_flow_item_integrity of rte_flow.h.
const (
	integrityL3         = 1 << 2
	integrityIPv4Sum    = 1 << 5
	integrityL3Length   = 1 << 7
	integrityOuterLevel = 1
	integrityInnerLevel = 2
)

// number is a field that must have a value, all of it.
func number(name string, value uint64, width int) Field {
	return masked(name, value, 1<<width-1, width)
}

// masked is a field of which some bits count.
func masked(name string, value, mask uint64, width int) Field {
	return Field{Name: name, Spec: bigEndian(value, width), Mask: bigEndian(mask, width)}
}

func bigEndian(value uint64, width int) Bytes {
	b := make(Bytes, (width+7)/8)
	for i := range b {
		b[len(b)-1-i] = byte(value >> (8 * i))
	}
	return b
}

// leading is a field of which the first bits count, as of a prefix.
func leading(name string, value []byte, bits int) Field {
	f := Field{Name: name, Spec: make(Bytes, len(value)), Mask: make(Bytes, len(value))}
	for i := range value {
		f.Mask[i] = byte(uint16(0xff00) >> min(max(bits-8*i, 0), 8))
		f.Spec[i] = value[i] & f.Mask[i]
	}
	return f
}

func exact(name string, value []byte) Field { return leading(name, value, 8*len(value)) }

// uint is the value of a short field.
func (b Bytes) uint() uint64 {
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// full tells whether all of the field counts.
func (f Field) full(width int) bool { return f.Mask.uint() == 1<<width-1 }

// of finds a field of the first item of a kind.
func of(items []Item, kind Kind, name string) (Field, bool) {
	for _, item := range items {
		if item.Kind != kind {
			continue
		}
		for _, f := range item.Fields {
			if f.Name == name {
				return f, true
			}
		}
	}
	return Field{}, false
}

// addressText is an address of either family.
func addressText(b []byte) string {
	a, _ := netip.AddrFromSlice(b)
	return a.String()
}
