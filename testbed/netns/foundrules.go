package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// ruleFeature is the kernel's name for the feature without which many drivers take no rules.
const ruleFeature = "rx-ntuple-filter"

// takeRules switches that on; it is put back with the other features.
func takeRules(tool *ethtool.Socket, device string) error {
	have, err := tool.Features(device)
	if err != nil {
		return fmt.Errorf("reading the features of %s: %w", device, err)
	}
	if on, there := have[ruleFeature]; !there || on {
		return nil
	}
	if err := tool.Change(device, map[string]bool{ruleFeature: true}); err != nil {
		return fmt.Errorf("switching %s of %s on: %w", ruleFeature, device, err)
	}
	return nil
}

// rulesOf are the places of an interface's rules, nil of a driver that has no word for them.
func rulesOf(tool queueTool, device string) ([]uint32, error) {
	places, err := tool.Rules(device)
	if untold(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the rules by which %s receives (`ethtool -n`): %w", device, err)
	}
	return append([]uint32{}, places...), nil
}

// addRules gives each adapter behind an interface its queue: by the address of Ethernet, or where the driver does not take those,
// by that of IPv4.
func addRules(tool queueTool, p testbed.Interface) error {
	for i, a := range p.Behind {
		mac, err := net.ParseMAC(a.MAC)
		if err != nil {
			return err
		}
		address, err := netip.ParseAddr(a.Address)
		if err != nil {
			return err
		}
		queue := ruledQueue(p, i)
		byMAC := tool.AddRule(p.Device, ethtool.Rule{MAC: mac, Queue: queue}, uint32(i))
		if byMAC == nil {
			continue
		}
		if err := tool.AddRule(p.Device, ethtool.Rule{Address: address, Queue: queue}, uint32(i)); err != nil {
			return fmt.Errorf("`vmq: on`: the driver of %s takes no rule that gives %s a receive queue (%w), nor one for %s (%w): it has no queues by destination",
				p.Device, a.MAC, byMAC, a.Address, err)
		}
	}
	return nil
}

// ruledQueue is the queue of an adapter. The first one is for all else.
func ruledQueue(p testbed.Interface, adapter int) uint32 {
	return uint32(1 + adapter%(p.Found.Queues-1))
}

// rulesDiffer compares the queues that rules lead to with those of the adapters.
func rulesDiffer(tool queueTool, p testbed.Interface) error {
	if len(p.Behind) == 0 {
		return nil
	}
	places, err := rulesOf(tool, p.Device)
	if err != nil {
		return err
	}
	var have, want []uint32
	for _, place := range places {
		queue, err := tool.RuleQueue(p.Device, place)
		if err != nil {
			return fmt.Errorf("reading a rule by which %s receives: %w", p.Device, err)
		}
		have = append(have, queue)
	}
	for i := range p.Behind {
		want = append(want, ruledQueue(p, i))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return fmt.Errorf("its rules lead to the queues %v, not %v", have, want)
	}
	return nil
}

// dropRules removes every rule of an interface whose owner had none.
func dropRules(tool queueTool, device string) error {
	places, err := rulesOf(tool, device)
	for _, place := range places {
		if gone := tool.DropRule(device, place); gone != nil {
			err = errors.Join(err, fmt.Errorf("removing the rule %d by which %s receives: %w", place, device, gone))
		}
	}
	return err
}
