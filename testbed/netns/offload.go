package netns

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// setOffloads switches the offloads that the graph names. The kernel may decline
// in silence: Verify reads them back.
func (c *cell) setOffloads(p testbed.Interface) error {
	if len(p.Offloads) == 0 {
		return nil
	}
	return c.stacks[p.Place].Do(func() error {
		return withEthtool(func(tool *ethtool.Socket) error {
			have, err := tool.Features(p.Device)
			if err != nil {
				return fmt.Errorf("reading the offloads of %s: %w", p.Device, err)
			}
			wanted := features(have, p.Offloads)
			if err := tool.Change(p.Device, wanted); err != nil {
				return fmt.Errorf("switching the offloads of %s: %w", p.Device, err)
			}
			return nil
		})
	})
}

// withEthtool opens an ethtool socket for f, on a stack's thread.
func withEthtool(f func(*ethtool.Socket) error) error {
	tool, err := ethtool.Open()
	if err != nil {
		return fmt.Errorf("opening an ethtool socket: %w", err)
	}
	defer tool.Close()
	return f(tool)
}

// features translates offload names into those of the kernel's features that a
// device has and whose state differs.
func features(have map[string]bool, offloads map[string]bool) map[string]bool {
	wanted := map[string]bool{}
	for name, on := range offloads {
		named := featuresOf(have, name)
		if name == testbed.GRO && !on {
			named = append(named, largeReceive)
		}
		for _, feature := range named {
			if have[feature] != on {
				wanted[feature] = on
			}
		}
	}
	return wanted
}

// largeReceive is what some NICs do by themselves of what GRO does (LRO), whatever became of that: who wants single packets
// wants neither.
const largeReceive = "rx-lro"

// featuresOf lists the features behind an offload's name, as ethtool(8) groups
// them: TSO is every kind of TCP segmentation that the kernel knows.
func featuresOf(have map[string]bool, offload string) []string {
	every := func(prefix, suffix string) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(have)), func(name string) bool {
			return !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, suffix)
		})
	}
	switch offload {
	case testbed.TSO:
		return every("tx-tcp", "-segmentation")
	case testbed.TxChecksum:
		return every("tx-checksum-", "")
	case testbed.GSO:
		return []string{"tx-generic-segmentation"}
	case testbed.GRO:
		return []string{"rx-gro"}
	case testbed.GROJoins:
		return nil // joins.go
	}
	return []string{offload}
}
