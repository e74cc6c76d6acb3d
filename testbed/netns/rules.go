package netns

import (
	"github.com/vishvananda/netlink"

	"windtunnel/testbed"
)

// Rule names what drops packets of a wire by itself, and reads what it has let through and dropped, in packets. Read
// may be called from any thread, as long as the cell stands.
type Rule struct {
	Name string // rule a/nic0
	Drop string // what its drops are called
	Read func() (passed, dropped uint64, err error)
}

// Rules are those of a cell's interfaces on this node.
func (b *Backend) Rules(cell string) (all []Rule) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[cell]
	if c == nil {
		return nil
	}
	for _, p := range c.graph.Interfaces() {
		if c.stacks[p.Place] == nil {
			continue
		}
		name := p.Place + "/" + p.Device
		if rule := c.rules[name]; rule != nil {
			all = append(all, Rule{"rule " + name, "loss", rule.read})
		}
		if p.BitsPerSecond > 0 {
			all = append(all, Rule{"shaper " + name, "queue_full", func() (passed, dropped uint64, err error) {
				err = c.onDevice(p, func(h *handle, device netlink.Link, _ testbed.Interface) error {
					passed, dropped, err = bucketCounts(h, device)
					return err
				})
				return passed, dropped, err
			}})
		}
	}
	return all
}
