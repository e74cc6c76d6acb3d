package ethtool

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Rule sends what is received for a destination to a queue. The destination is an address of Ethernet, or else of IPv4.
type Rule struct {
	MAC     net.HardwareAddr
	Address netip.Addr
	Queue   uint32
}

// Where things are in struct ethtool_rxnfc of 64-bit machines, in bytes: a command, its value, a rule, how many
// rules there are, and where each is. A rule is a kind of flow, what fields are compared with, which of their bits are, a
// queue and its place.
const (
	ruleValue    = 8
	ruleKind     = 16
	ruleFields   = 20
	ruleMasks    = 92
	ruleQueue    = 168
	rulePlace    = 176
	ruleCount    = 184
	rulePlaces   = 188
	ruleBytes    = 192
	etherFlow    = 0x12
	ipFlow       = 0x0d // any packet of IPv4
	ipField      = 4    // the destination's address among its fields
	ipVersion    = 13   // one of them, which the kernel wants to be
	ip4          = 1    // this
	anyPlace     = 0xffffffff
	placeSpecial = 0x80000000 // among the value of the count: the driver takes anyPlace
)

// Rules are the places of the rules that a device has. A driver without refuses with EOPNOTSUPP.
func (s *Socket) Rules(device string) ([]uint32, error) {
	n, _, err := s.countRules(device)
	if err != nil {
		return nil, err
	}
	all := command(ruleBytes+4*n, unix.ETHTOOL_GRXCLSRLALL)
	put(all, ruleCount/4, uint32(n))
	if n > 0 {
		if err := s.ask(device, all); err != nil {
			return nil, err
		}
		n = min(n, int(get(all, ruleCount/4)))
	}
	places := make([]uint32, n)
	for i := range places {
		places[i] = get(all, rulePlaces/4+i)
	}
	return places, nil
}

func (s *Socket) countRules(device string) (n int, special bool, err error) {
	count := command(ruleBytes, unix.ETHTOOL_GRXCLSRLCNT)
	if err := s.ask(device, count); err != nil {
		return 0, false, err
	}
	n, err = bounded(get(count, ruleCount/4))
	return n, binary.NativeEndian.Uint64(count[ruleValue:])&placeSpecial != 0, err
}

// RuleQueue is the queue of the rule at a place.
func (s *Socket) RuleQueue(device string, place uint32) (uint32, error) {
	rule := command(ruleBytes, unix.ETHTOOL_GRXCLSRULE)
	put(rule, rulePlace/4, place)
	if err := s.ask(device, rule); err != nil {
		return 0, err
	}
	return get(rule, ruleQueue/4), nil
}

// AddRule adds a rule at any place that the driver takes, or at a place given, where the driver wants to be told.
func (s *Socket) AddRule(device string, r Rule, place uint32) error {
	_, special, err := s.countRules(device)
	if err != nil {
		return err
	}
	if special {
		place = anyPlace
	}
	rule := command(ruleBytes, unix.ETHTOOL_SRXCLSRLINS)
	switch {
	case len(r.MAC) == 6:
		put(rule, ruleKind/4, etherFlow)
		copy(rule[ruleFields:], r.MAC)
		fill(rule[ruleMasks:][:6])
	case r.Address.Is4():
		put(rule, ruleKind/4, ipFlow)
		copy(rule[ruleFields+ipField:], r.Address.AsSlice())
		rule[ruleFields+ipVersion] = ip4
		fill(rule[ruleMasks+ipField:][:4])
	default:
		return fmt.Errorf("a rule for %q and %q: it needs an address of Ethernet or of IPv4", r.MAC, r.Address)
	}
	put(rule, ruleQueue/4, r.Queue)
	put(rule, rulePlace/4, place)
	return s.ask(device, rule)
}

// DropRule removes the rule at a place.
func (s *Socket) DropRule(device string, place uint32) error {
	rule := command(ruleBytes, unix.ETHTOOL_SRXCLSRLDEL)
	put(rule, rulePlace/4, place)
	return s.ask(device, rule)
}

func fill(mask []byte) {
	for i := range mask {
		mask[i] = 0xff
	}
}
