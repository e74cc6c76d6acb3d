package control

import (
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/kernel"
)

// attachments are a wish's fabric and its vifs.
func (w wish) attachments() (fabric config.Attachment, vifs []config.Attachment) {
	vifs, slots := []config.Attachment{}, view{w.config, w.image}.slots()
	for _, p := range w.config.Ports {
		if slot, ok := slots[config.ID(p.Name)]; ok {
			vifs = append(vifs, p.Attachment(slot, w.image.Vifs[slot].Ifindex))
		}
	}
	return w.config.Fabric.Attachment(w.facts.FabricIfindex, w.facts.FabricMTU), vifs
}

// bringUp attaches what a wish needs, before any packet is turned over to it: so what a device refuses
// is refused while the tables are as they were. The poll mode's ports are opened after.
func (a *Agent) bringUp(w wish) error {
	fabric, vifs := w.attachments()
	if a.kernel == nil {
		a.receive = kernel.Receive{Way: receivePoll, Why: inPollMode}
		return a.poll.Hush(fabric, append(w.config.FlatAddresses(), a.config.FlatAddresses()...))
	}
	if err := a.kernel.AttachNew(fabric, vifs); err != nil {
		return err
	}
	var err error
	a.receive, err = a.kernel.SetReceive(fabric.Ifindex, w.config.Fabric.Receive, kernel.Tunnels{
		MPLS: len(w.image.Labels) > 0, VXLAN: w.image.Node.Flags&core.NodeVXLAN != 0,
	})
	if err != nil { // the fast path has the same device, which would only refuse again, without saying what to do
		return err
	}
	return a.setFast(w)
}

// takeDown gives every interface the vif that the image has for it, and lets go of those that have none.
func (a *Agent) takeDown() error {
	fabric, vifs := wish{config: a.config, facts: a.facts, image: a.image}.attachments()
	if err := a.plane.Attach(fabric, vifs); err != nil || a.poll == nil {
		return err
	}
	return a.poll.Hush(fabric, a.config.FlatAddresses())
}
