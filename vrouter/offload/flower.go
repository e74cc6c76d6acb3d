package offload

import (
	"fmt"
	"io"
	"net"
	"strings"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// tunnelDevices are what the kernel's tunnel device of an encapsulation is called in the commands, and how it
// is made: with the ports that the vRouter sends from.
var tunnelDevices = map[config.Encapsulation]struct{ name, made string }{
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
				w.line("%s", tunnelDevices[kind].made)
				break
			}
		}
	}
	for i, r := range p.Rules {
		w.line("# %s", r.Name)
		w.assumptions(r)
		w.line("%s", p.flowerRule(r, i))
	}
	return w.err
}

// flowerRule is a rule's command. The kernel wants one priority for each protocol; all others are free.
func (p Plan) flowerRule(r Rule, i int) string {
	items, device, outer := r.Pattern, p.Ports[r.Vif].Device, []string(nil)
	if arriving := r.Tunnel != nil && r.Actions[0].Do == RawDecap; arriving {
		device, outer = tunnelDevices[r.Tunnel.Encapsulation].name, flowerOuter(r)
		items = items[4:] // what stands inside: eth, ip, udp and the VNI are the device's
	}
	protocol, priority := "ip", 1
	if _, six := of(items, IPv6, "proto"); six {
		protocol, priority = "ipv6", 2
	}
	words := append([]string{"tc filter add dev", device, "ingress protocol", protocol, "prio", fmt.Sprint(priority), "handle", fmt.Sprint(i + 1), "flower skip_sw"}, outer...)
	words = append(append(words, flowerKeys(items)...), p.flowerActions(r, protocol)...)
	return strings.Join(words, " ")
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

func (p Plan) flowerActions(r Rule, protocol string) []string {
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
			leaves = p.flowerPush(r, a, add)
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

// flowerPush says what stands in front, to the device that makes it; it gives a tunnel's device.
func (p Plan) flowerPush(r Rule, a Action, add func(string, ...any)) string {
	mine := a.Header
	if len(a.Header) > ethLen {
		mine = a.Header[len(a.Header)-ethLen:] // VXLAN's inner Ethernet header
	}
	if len(a.Header) == ethLen || r.Tunnel.Encapsulation == config.VXLAN {
		add("pedit ex munge eth dst set %s munge eth src set %s pipe", net.HardwareAddr(mine[:6]), net.HardwareAddr(mine[6:12]))
	}
	if len(a.Header) == ethLen {
		return ""
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
	return tunnelDevices[t.Encapsulation].name
}
