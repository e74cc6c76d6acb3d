package offload

import (
	"encoding/hex"

	"windtunnel/vrouter/config"
)

// Target is whose words rules are made for.
type Target string

const (
	// RTEFlow is DPDK's generic flow API.
	RTEFlow Target = "rte_flow"
	// Flower is the kernel's tc filter of that name.
	Flower Target = "flower"
)

// Bytes are written as hexadecimal digits.
type Bytes []byte

// MarshalText makes JSON of them.
func (b Bytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b), nil }

// A Rule is a pattern and what becomes of packets that it matches.
type Rule struct {
	Name    string       `json:"name"` // what it is about
	Vif     uint32       `json:"vif"`  // that packets come by; 0 is the fabric
	Ifindex uint32       `json:"ifindex"`
	Pattern []Item       `json:"pattern"` // headers, from the first on
	Actions []Action     `json:"actions"` // in order
	Tunnel  *Tunnel      `json:"tunnel,omitempty"`
	Assumes []Assumption `json:"assumes,omitempty"`
	Open    []Open       `json:"open,omitempty"`
}

// An Item matches one header, by bits of its fields: where the mask has ones, the value must be spec's.
type Item struct {
	Kind   Kind    `json:"item"`
	Fields []Field `json:"fields,omitempty"`
}

// Field is a part of a header; [layouts] says where. Both are as many bytes as it needs, its last bit the
// lowest.
type Field struct {
	Name string `json:"field"`
	Spec Bytes  `json:"spec"`
	Mask Bytes  `json:"mask"`
}

// Kind is a kind of header, in rte_flow's words.
type Kind string

// The kinds. Integrity is no header: it says what the device must have found right.
const (
	Integrity Kind = "integrity"
	Eth       Kind = "eth"
	IPv4      Kind = "ipv4"
	IPv6      Kind = "ipv6"
	TCP       Kind = "tcp"
	UDP       Kind = "udp"
	ICMP      Kind = "icmp"
	GRE       Kind = "gre"
	MPLS      Kind = "mpls"
	VXLAN     Kind = "vxlan"
)

// Do is what an action does.
type Do string

// The actions. A packet that does not fit ends the rule: it goes to software as it came.
const (
	Fits      Do = "fits"      // only what is no longer than Bytes goes on
	DecTTL    Do = "dec_ttl"   // of the first IP header, and its checksum
	RawDecap  Do = "raw_decap" // takes Bytes off the front
	RawEncap  Do = "raw_encap" // puts Header in front, and fills it in
	CountIt   Do = "count"     // packets and bytes, as Counter
	ToPort    Do = "port"      // out of Vif, whose interface has Ifindex
	DropIt    Do = "drop"      // lost, for the reason that is counted
	Forwarded    = "forwarded" // a Counter: core.Totals' of the same name
	Denied       = "policy_denied"
)

// An Action is one step.
type Action struct {
	Do      Do     `json:"do"`
	Bytes   int    `json:"bytes,omitempty"`
	Header  Bytes  `json:"header,omitempty"`
	Fill    []Fill `json:"fill,omitempty"`
	Counter string `json:"counter,omitempty"`
	Vif     uint32 `json:"vif,omitempty"` // 0 is the fabric
	Ifindex uint32 `json:"ifindex,omitempty"`
}

// Fill is a field of a pushed header that is zero in it, because packets differ, and that the device fills
// in: as it does for every header that it pushes.
type Fill string

// The fills. Lengths are of what stands behind, to the frame's end.
const (
	FillIPv4Length   Fill = "ipv4.total_length"
	FillIPv4Checksum Fill = "ipv4.hdr_checksum"
	FillIPv6Length   Fill = "ipv6.payload_len"
	FillUDPLength    Fill = "udp.length"
)

// Tunnel is what a kernel's tunnel device is told, or has read, in place of raw headers.
type Tunnel struct {
	Encapsulation config.Encapsulation `json:"encapsulation"`
	Source        string               `json:"source,omitempty"`
	Destination   string               `json:"destination"`
	Label         uint32               `json:"label,omitempty"`
	VNI           uint32               `json:"vni,omitempty"`
	TOS           uint8                `json:"tos"`
}

// Assumption is something that a pattern has no words for, and that must hold all the same.
type Assumption string

const (
	// AssumeHeaders: the device takes no packet whose IP header has a wrong length or checksum, or that
	// ends before its TCP or UDP header does.
	AssumeHeaders Assumption = "header_checks"
	// AssumeTransport: the device takes no packet that ends before its TCP, UDP or ICMP header does, or in
	// which that has a length that cannot be, and no tunnel packet whose UDP header has another length than
	// the packet, or that ends before the packet inside it.
	AssumeTransport Assumption = "transport_lengths"
	// AssumeSource: the device takes no tunnel packet from an address that no other node can have.
	AssumeSource Assumption = "node_source"
	// AssumePortMTU: no frame is longer than the MTU of the interface that it comes by.
	AssumePortMTU Assumption = "port_mtu"
	// AssumeLabelTTL: the device takes no packet whose label has the time to live 0.
	AssumeLabelTTL Assumption = "label_ttl"
	// AssumeExtensions: the device takes no IPv6 packet with more extension headers than the core reads.
	AssumeExtensions Assumption = "ipv6_extensions"
	// AssumeNoRecord: there is no record of the flow, from a time when its policy let it begin.
	AssumeNoRecord Assumption = "no_flow_record"
	// AssumeVXLANFlag: the device takes no VXLAN packet that does not say that its VNI is valid.
	AssumeVXLANFlag Assumption = "vxlan_flag"
)

// Open is a field of an outer header that a kernel's tunnel device chooses by itself, so that the packet
// is not the core's to the bit. Receivers take any value of it.
type Open string

// The open fields.
const (
	OpenUDPSource Open = "udp.src"            // an entropy of the kernel's own
	OpenIPv4ID    Open = "ipv4.packet_id"     // the kernel numbers packets
	OpenIPv4DF    Open = "ipv4.dont_fragment" // off, where tc has no `nofrag`
	OpenIPv6Flow  Open = "ipv6.flow"          // 0
)
