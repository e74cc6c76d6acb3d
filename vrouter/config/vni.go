package config

import (
	"fmt"

	"windtunnel/vrouter/core"
)

// maxVNI is the largest that RFC 7348, section 5, has bits for.
const maxVNI = 1<<24 - 1

// addVNIs names each network's VNI in the table. What has a slot keeps it; only then are slots free
// to be given to others.
func (b *builder) addVNIs() error {
	var new []Network
	for _, n := range b.config.Networks {
		if n.VNI == 0 {
			continue
		}
		b.next.Node.Flags |= core.NodeVXLAN
		if slot, ok := b.previous.vniSlot(n.VNI); ok {
			b.next.VNIs[slot] = core.VNIWord(n.VNI, b.next.vrfs[n.Name])
		} else {
			new = append(new, n)
		}
	}
	for _, n := range new {
		if err := b.addVNI(n.VNI, b.next.vrfs[n.Name]); err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}
	}
	return nil
}

// addVNI puts a word into a slot of its bucket that nobody has. Where there is none, one whose VNI
// goes does: an entry changes in one store.
func (b *builder) addVNI(vni, vrf uint32) error {
	first := core.VNIBucket(vni)
	for _, mayReplace := range []bool{false, true} {
		for slot := first; slot < first+core.VNIWays; slot++ {
			_, had := b.previous.VNIs[slot]
			if _, taken := b.next.VNIs[slot]; !taken && (!had || mayReplace) {
				b.next.VNIs[slot] = core.VNIWord(vni, vrf)
				return nil
			}
		}
	}
	return fmt.Errorf("the VNI table has no room for %d: %d VNIs that are in use lie in the same bucket; choose another", vni, core.VNIWays)
}

// LookupVNI finds the VRF of a VNI as the data path does; 0 if there is none.
func (m Image) LookupVNI(vni uint32) uint32 {
	slot, _ := m.vniSlot(vni)
	_, vrf := core.VNIOf(m.VNIs[slot])
	return vrf
}

func (m Image) vniSlot(vni uint32) (slot uint32, ok bool) {
	first := core.VNIBucket(vni)
	for slot := first; slot < first+core.VNIWays; slot++ {
		if found, _ := core.VNIOf(m.VNIs[slot]); m.VNIs[slot] != 0 && found == vni {
			return slot, true
		}
	}
	return core.MaxVNIs, false
}
