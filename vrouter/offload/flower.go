package offload

import (
	"fmt"
	"io"
	"net"
	"strings"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// flowerTunnels are what the kernel's tunnel device of an encapsulation is called in the commands, and how it
// is made: with the ports that the vRouter sends from.
var flowerTunnels = map[config.Encapsulation]struct{ name, made string }{
	config.MPLSoUDP: {"bareudp0", "ip link add bareudp0 up type bareudp dstport 6635 ethertype mpls_uc srcportmin 49152"},
	config.VXLAN:    {"vxlan0", "ip link add vxlan0 up type vxlan external dstport 4789 srcport 49152 65535 nolearning udp6zerocsumtx udp6zerocsumrx"},
}

// Flower writes rules as commands of tc. They are for hardware alone (skip_sw): in software, the vRouter's
// own programs do the same, and all of it.
func (p Plan) Flower(out io.Writer) error {
	w := writer{out: out}
	w.refusals(p)
	for _, kind := range []config.Encapsulation{config.MPLSoUDP, config.VXLAN} {
		for _, r := range p.Rules {
			if r.Tunnel != nil && r.Tunnel.Encapsulation == kind {
				w.line("%s", TunnelMade(kind))
				break
			}
		}
	}
	for i, r := range p.Rules {
		w.line("# %s", r.Name)
		w.assumptions(r)
		_, command := p.Filter(r, FilterPlace{Tunnel: TunnelDevice(r), Priority: 1, Handle: uint32(i) + 1})
		w.line("tc %s", command)
	}
	return w.err
}

// TunnelMade is the command that makes the kernel's tunnel device for an encapsulation, as rules want it; "" for
// one that devices are told of without, or that tc has no words for.
func TunnelMade(kind config.Encapsulation) string { return flowerTunnels[kind].made }

// TunnelDevice is what a rule's tunnel device is called in [TunnelMade]; "" if it needs none.
func TunnelDevice(r Rule) string {
	if r.Tunnel == nil {
		return ""
	}
	return flowerTunnels[r.Tunnel.Encapsulation].name
}

// A FilterPlace is where a filter goes. The kernel wants one priority for each protocol, so IPv6's is the next one.
type FilterPlace struct {
	Tunnel   string // the interface that is the rule's tunnel device, if it needs one
	Priority int
	Handle   uint32
	Cookie   Bytes // that the filter is marked with, by its last action; up to 16 bytes, or none
}

// Filter is a rule's command of tc, without the program's name, and the interface that the filter is at.
func (p Plan) Filter(r Rule, at FilterPlace) (device, command string) {
	items, outer := r.Pattern, []string(nil)
	device = p.Ports[r.Vif].Device
	if arriving := r.Tunnel != nil && r.Actions[0].Do == RawDecap; arriving {
		device, outer = at.Tunnel, flowerOuter(r)
		items = items[4:] // what stands inside: eth, ip, udp and the VNI are the device's
	}
	protocol, priority := "ip", at.Priority
	if _, six := of(items, IPv6, "proto"); six {
		protocol, priority = "ipv6", at.Priority+1
	}
	words := append([]string{"filter add dev", device, "ingress protocol", protocol, "prio", fmt.Sprint(priority), "handle", fmt.Sprint(at.Handle), "flower skip_sw"}, outer...)
	words = append(append(words, flowerKeys(items)...), p.flowerActions(r, protocol, at.Tunnel)...)
	if len(at.Cookie) > 0 {
		words = append(words, fmt.Sprintf("cookie %x", []byte(at.Cookie)))
	}
	return device, strings.Join(words, " ")
}

func flowerOuter(r Rule) []string {
	words := []string{"enc_dst_ip", r.Tunnel.Destination, "enc_dst_port", fmt.Sprint(portVXLAN), "enc_key_id", fmt.Sprint(r.Tunnel.VNI), "enc_tos 0x0/0x1"}
	if r.Tunnel.Source != "" {
		words = append(words, "enc_src_ip", r.Tunnel.Source)
	}
	return words
}

// flowerKeys are the fields in flower's words. The protocol comes first, because ports need it.
func flowerKeys(items []Item) []string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, item := range items {
		if f, there := of([]Item{item}, item.Kind, "proto"); there {
			add("ip_proto %s", map[uint64]string{core.ProtocolTCP: "tcp", core.ProtocolUDP: "udp", core.ProtocolICMP: "icmp"}[f.Spec.uint()])
		}
		for _, f := range item.Fields {
			spec, mask := f.Spec.uint(), f.Mask.uint()
			switch name := f.Name; {
			case item.Kind == Eth && name != "type":
				add("%s_mac %s", name, net.HardwareAddr(f.Spec))
			case name == "tos" || name == "tc":
				add("ip_tos %#x/%#x", spec, mask)
			case name == "ttl" || name == "hop":
				add("ip_ttl %#x/%#x", spec, mask)
			case name == "fragment_offset" || name == "has_frag_ext":
				add("ip_flags nofrag")
			case name == "flags":
				add("tcp_flags %#x/%#x", spec, mask)
			case (item.Kind == IPv4 || item.Kind == IPv6) && (name == "src" || name == "dst"):
				bits, _ := prefixBits(f.Mask)
				add("%s_ip %s/%d", name, addressText(f.Spec), bits)
			case item.Kind == TCP || item.Kind == UDP:
				add("%s_port %s", name, flowerPort(spec, mask))
			}
		}
	}
	return words
}

func flowerPort(spec, mask uint64) string {
	if mask == 0xffff {
		return fmt.Sprint(spec)
	}
	return fmt.Sprintf("%d/%#x", spec, mask)
}

func (p Plan) flowerActions(r Rule, protocol, tunnel string) []string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf("action "+format, args...)) }
	hop := "ip ttl"
	if protocol == "ipv6" {
		hop = "ip6 hoplimit"
	}
	leaves := ""
	for _, a := range r.Actions {
		switch a.Do {
		case Fits:
			add("police mtu %d conform-exceed continue/pipe", a.Bytes)
		case DecTTL:
			add("pedit ex munge %s decrement pipe", hop)
			if protocol == "ip" {
				add("csum ip4h pipe")
			}
		case RawDecap:
			if r.Tunnel != nil && a.Bytes > ethLen {
				add("tunnel_key unset pipe")
			}
		case RawEncap:
			if p.flowerPush(r, a, add); len(a.Header) > ethLen {
				leaves = tunnel
			}
		case ToPort:
			if leaves == "" {
				leaves = p.Ports[a.Vif].Device
			}
			add("mirred egress redirect dev %s", leaves)
		case DropIt:
			add("drop")
		}
	}
	return words
}

// flowerPush says what stands in front, to the device that makes it.
func (p Plan) flowerPush(r Rule, a Action, add func(string, ...any)) {
	mine := a.Header
	if len(a.Header) > ethLen {
		mine = a.Header[len(a.Header)-ethLen:] // VXLAN's inner Ethernet header
	}
	if len(a.Header) == ethLen || r.Tunnel.Encapsulation == config.VXLAN {
		add("pedit ex munge eth dst set %s munge eth src set %s pipe", net.HardwareAddr(mine[:6]), net.HardwareAddr(mine[6:12]))
	}
	if len(a.Header) == ethLen {
		return
	}
	t := r.Tunnel
	id := ""
	if t.Encapsulation == config.VXLAN {
		id = fmt.Sprintf(" id %d", t.VNI)
	}
	port := map[config.Encapsulation]int{config.VXLAN: portVXLAN, config.MPLSoUDP: portMPLSoUDP}[t.Encapsulation]
	add("tunnel_key set src_ip %s dst_ip %s%s dst_port %d tos %#x ttl 64 nocsum pipe", t.Source, t.Destination, id, port, t.TOS)
	if t.Encapsulation == config.MPLSoUDP {
		add("mpls push protocol mpls_uc label %d tc 0 ttl 64 bos 1 pipe", t.Label)
	}
}
