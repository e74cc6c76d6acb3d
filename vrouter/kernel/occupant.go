package kernel

import "windtunnel/vrouter/owner"

// MayAttach refuses interfaces at which another vRouter's programs are: it would be the one that gets the
// packets, or would get none any more. Nothing is changed.
func (d *Dataplane) MayAttach(interfaces []uint32) error {
	for _, ifindex := range interfaces {
		if d.holds(ifindex) {
			continue
		}
		if err := owner.Refuse(ifindex, d.nodes); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether this process has attached something there.
func (d *Dataplane) holds(ifindex uint32) bool {
	return d.filters[ifindex] != "" || d.links.byIfindex[ifindex] != nil
}
