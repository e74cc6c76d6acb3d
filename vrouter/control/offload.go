package control

import (
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/offload"
)

// Offload says what of a configuration a device could be told, on this machine as it is. Nothing is
// changed, and no vRouter needs to run. DPDK's port 0 is the fabric; the others follow in the order of the
// configuration.
func Offload(c config.Config, o offload.Options) (offload.Plan, error) {
	if c.Fabric.UDPChecksum { // rules push headers as they are, and leave a device the lengths and the IPv4 checksum only
		return offload.Plan{}, Refuse(&config.Error{Path: "fabric.udp_checksum", Message: "no rule can make an outer UDP checksum; leave it out"})
	}
	m, err := openMachine()
	if err != nil {
		return offload.Plan{}, err
	}
	defer m.close()
	facts, err := m.facts(c)
	if err != nil {
		return offload.Plan{}, err
	}
	image, err := c.Image(facts, config.Image{})
	if err != nil {
		return offload.Plan{}, err
	}
	o.Ports = view{c, image}.devices()
	return offload.Translate(image, o), nil
}

// devices are what people and devices call the vifs; 0 is the fabric.
func (v view) devices() map[uint32]offload.Port {
	ports, slots := map[uint32]offload.Port{0: {Name: "fabric", Device: v.config.Fabric.Interface}}, v.slots()
	for i, p := range v.config.Ports {
		if slot, there := slots[config.ID(p.Name)]; there {
			ports[slot] = offload.Port{Name: p.Name, Device: p.Place(), Number: i + 1}
		}
	}
	return ports
}
