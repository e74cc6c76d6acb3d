package offload

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
)

/*
Testpmd writes rules as DPDK's testpmd reads them, one command a line. Rules are of the embedded switch ("transfer"), where ports are named as the program numbers them.

What stands in a pushed header is written as items, of which testpmd makes bytes; it has no word for a
label's time to live, so that those four bytes are written as the two halves of a GRE header, which are
the same bytes.
*/
func (p Plan) Testpmd(out io.Writer) error {
	w := writer{out: out}
	w.refusals(p)
	w.line("set raw_decap 0 eth / end_set")
	for _, r := range p.Rules {
		w.line("# %s", r.Name)
		w.assumptions(r)
		p.testpmdRule(&w, r)
	}
	return w.err
}

// longestCommand is what testpmd reads of a line.
const longestCommand = 511

func (p Plan) testpmdRule(w *writer, r Rule) {
	var actions []string
	for _, a := range r.Actions {
		word := string(a.Do)
		switch {
		case a.Do == RawDecap && a.Bytes > ethLen:
			w.line("set raw_decap 1 %s / end_set", strings.Join(decapped(r), " / "))
			word += " index 1"
		case a.Do == RawEncap:
			w.line("set raw_encap 0 %s / end_set", strings.Join(pushed(a.Header), " / "))
		case a.Do == ToPort:
			word = fmt.Sprintf("represented_port ethdev_port_id %d", p.Ports[a.Vif].Number)
		}
		actions = append(actions, word)
	}
	at := p.Ports[r.Vif].Number
	text := fmt.Sprintf("flow create %d transfer pattern represented_port ethdev_port_id is %d / %s / end actions %s / end",
		at, at, strings.Join(testpmdPattern(r.Pattern), " / "), strings.Join(actions, " / "))
	if len(text) > longestCommand {
		w.line("# testpmd reads %d characters of a line, and this one has %d; JSON has the rule", longestCommand, len(text))
		text = "# " + text
	}
	w.line("%s", text)
}

// A writer keeps the first error.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

// refusals begins a plan with what is not in it.
func (w *writer) refusals(p Plan) {
	for _, r := range p.Refused {
		w.line("# not offloaded: %s", r.Error())
	}
	if p.Cut {
		w.line("# there is more than fits the limit")
	}
}

func (w *writer) assumptions(r Rule) {
	if len(r.Assumes) > 0 {
		w.line("#   assumes: %s", joined(r.Assumes))
	}
	if len(r.Open) > 0 {
		w.line("#   left to the device: %s", joined(r.Open))
	}
}

func joined[T ~string](list []T) string {
	var words []string
	for _, word := range list {
		words = append(words, string(word))
	}
	return strings.Join(words, ", ")
}

// testpmdPattern leaves out which header comes next: the next item says it.
func testpmdPattern(items []Item) []string {
	var words []string
	for _, item := range items {
		text := string(item.Kind)
		for _, f := range item.Fields {
			if f.Name != "type" && f.Name != "proto" {
				text += " " + testpmdField(item.Kind, f)
			}
		}
		words = append(words, text)
	}
	return words
}

func testpmdField(kind Kind, f Field) string {
	spec, mask := testpmdValue(kind, f.Name, f.Spec), testpmdValue(kind, f.Name, f.Mask)
	switch bits, isPrefix := prefixBits(f.Mask); {
	case kind == Integrity && f.Name == "value":
		return fmt.Sprintf("value mask %s value spec %s", mask, spec)
	case f.Name == "has_frag_ext", f.full(layouts[kind][f.Name].width), kind == Integrity, isPrefix && bits == 8*len(f.Spec):
		return f.Name + " is " + spec
	case len(f.Spec) >= 4 && kind != MPLS && isPrefix:
		return fmt.Sprintf("%s spec %s %s prefix %d", f.Name, spec, f.Name, bits)
	}
	return fmt.Sprintf("%s spec %s %s mask %s", f.Name, spec, f.Name, mask)
}

// prefixBits is how many leading ones a mask has; false if others follow.
func prefixBits(mask Bytes) (int, bool) {
	ones, size := net.IPMask(mask).Size()
	return ones, size != 0
}

func testpmdValue(kind Kind, name string, value Bytes) string {
	switch {
	case kind == Eth && name != "type":
		return net.HardwareAddr(value).String()
	case (kind == IPv4 || kind == IPv6) && (name == "src" || name == "dst"):
		return addressText(value)
	case name == "version_ihl", name == "protocol", name == "fragment_offset":
		return fmt.Sprintf("%#x", value.uint())
	}
	return fmt.Sprint(value.uint())
}

// decapped are the headers that go, of which only the length counts: the outer ones, and an inner Ethernet.
func decapped(r Rule) []string {
	var words []string
	level := 0
	for _, item := range r.Pattern {
		if item.Kind == IPv4 || item.Kind == IPv6 {
			level++
		}
		if level == 2 {
			break
		}
		if item.Kind != Integrity {
			words = append(words, string(item.Kind))
		}
	}
	return words
}

// pushed are items of which testpmd makes the bytes of a header.
func pushed(h Bytes) []string {
	words := []string{testpmdEth(h, len(h) == ethLen)}
	if len(h) == ethLen {
		return words
	}
	ip, rest, protocol := h[ethLen:], Bytes(nil), byte(0)
	if ip[0]>>4 == 4 {
		words = append(words, fmt.Sprintf("ipv4 tos is %d fragment_offset is %#x ttl is %d proto is %d src is %s dst is %s",
			ip[1], binary.BigEndian.Uint16(ip[6:]), ip[8], ip[9], addressText(ip[12:16]), addressText(ip[16:20])))
		rest, protocol = ip[20:], ip[9]
	} else {
		word := binary.BigEndian.Uint32(ip)
		words = append(words, fmt.Sprintf("ipv6 tc is %d flow is %#x hop is %d proto is %d src is %s dst is %s",
			word>>20&0xff, word&0xfffff, ip[7], ip[6], addressText(ip[8:24]), addressText(ip[24:40])))
		rest, protocol = ip[40:], ip[6]
	}
	gre := func(b Bytes) string {
		return fmt.Sprintf("gre c_rsvd0_ver is %#x protocol is %#x", b[:2].uint(), b[2:4].uint())
	}
	switch {
	case protocol == protocolGRE:
		return append(words, gre(rest), gre(rest[4:]))
	case rest[2:4].uint() == portVXLAN:
		words = append(words, udpItem(rest), fmt.Sprintf("vxlan vni is %d", rest[12:15].uint()))
		return append(words, testpmdEth(rest[16:], true))
	}
	return append(words, udpItem(rest), gre(rest[8:]))
}

func udpItem(b Bytes) string {
	return fmt.Sprintf("udp src is %d dst is %d", b[:2].uint(), b[2:4].uint())
}

func testpmdEth(b Bytes, typed bool) string {
	text := fmt.Sprintf("eth dst is %s src is %s", net.HardwareAddr(b[:6]), net.HardwareAddr(b[6:12]))
	if typed {
		text += fmt.Sprintf(" type is %#04x", b[12:14].uint())
	}
	return text
}
