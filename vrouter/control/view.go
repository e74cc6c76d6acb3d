package control

import "windtunnel/vrouter/config"

// A view is a configuration and what became of it: what the tools show.
type view struct {
	config config.Config
	image  config.Image
}

func (a *Agent) view() view { return view{a.config, a.image} }

// slots finds each port's vif, by the port's ID.
func (v view) slots() map[uint64]uint32 {
	slots := make(map[uint64]uint32, len(v.image.Vifs))
	for slot, vif := range v.image.Vifs {
		slots[vif.ID] = slot
	}
	return slots
}

// portNames finds each vif's port.
func (v view) portNames() map[uint32]string {
	names, slots := make(map[uint32]string), v.slots()
	for _, p := range v.config.Ports {
		if slot, ok := slots[config.ID(p.Name)]; ok {
			names[slot] = p.Name
		}
	}
	return names
}

// networkName is the name of the network of a record.
func (v view) networkName(vrf uint32) string {
	id := v.image.VRFs[vrf].ID
	for _, n := range v.config.Networks {
		if config.ID(n.Name) == id {
			return n.Name
		}
	}
	return ""
}
