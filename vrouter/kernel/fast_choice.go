package kernel

import "windtunnel/vrouter/config"

// FastWish is what a configuration wants of the fast path.
type FastWish struct {
	Fabric uint32 // its interface
	On     config.Fast
	Ports  map[uint32]config.Fast // by interface
}

// demands tells whether some interface must be fast.
func (w FastWish) demands() bool {
	demanded := w.On == config.FastOn
	for _, want := range w.Ports {
		demanded = demanded || want == config.FastOn
	}
	return demanded
}

// chooseFast finds out what could be fast: it is nothing without two ends.
func (d *Dataplane) chooseFast(w FastWish) map[uint32]Fast {
	fabric := chooseOne(w.Fabric, w.On, true)
	result, some := make(map[uint32]Fast), false
	for ifindex, want := range w.Ports {
		f := chooseOne(ifindex, want, false)
		if f.From && !fabric.From && want != config.FastOn {
			f = Fast{Why: "the fabric is not fast: " + fabric.Why}
		}
		some = some || f.From
		result[ifindex] = f
	}
	if fabric.From && !some && w.On != config.FastOn {
		fabric = Fast{Why: "no port is fast"}
	}
	result[w.Fabric] = fabric
	return result
}

func chooseOne(ifindex uint32, want config.Fast, fabric bool) Fast {
	switch want {
	case config.FastOff:
		return Fast{Why: asConfigured}
	case config.FastOn:
		return Fast{From: true, Why: asConfigured}
	}
	can, err := xdpFeatures(ifindex)
	if err != nil {
		return Fast{Why: err.Error()}
	}
	if can&xdpBasic == 0 || can&xdpRedirect == 0 {
		return Fast{Why: "the driver has no native XDP that redirects"}
	}
	if why := unsafeFast(ifindex, fabric); why != "" {
		return Fast{Why: why}
	}
	return Fast{From: true, Why: "nothing here is left to a device"}
}

// unsafeFast says what XDP would harm at an interface, "" for nothing.
//
// A veth or tap is the other end's device, and takes over what that end's stack leaves to it:
// checksums and segmentation. With XDP a veth cuts the other end's aggregates (veth_fix_features in
// drivers/net/veth.c), and every packet is copied, so bulk TCP would pay for small packets' speed. And
// a checksum inside a tunnel of the container's own is unfinished where XDP cannot see it. Nothing
// at this end tells what the other end is set to, so the vRouter goes by this end: who switches
// checksums off here (which takes segmentation along) says so of both.
//
// Of a packet whose VLAN tag the NIC took off XDP cannot tell the VLAN, and a fabric's switch lets in
// VLANs for a reason. A container's tag only says what it could as well leave out.
func unsafeFast(ifindex uint32, fabric bool) string {
	driver, features, err := driverOf(ifindex)
	switch shared := driver == "veth" || driver == "tun"; {
	case err != nil:
		return err.Error()
	case shared && features["tx-checksum-ip-generic"]:
		return "checksums are left to the device, where XDP cannot finish them; `ethtool -K IF tx off` at both ends"
	case shared && features["tx-tcp-segmentation"]:
		return "segmentation is left to the device, and XDP would have aggregates cut; `ethtool -K IF tso off` at both ends"
	case fabric && !shared && features["rx-vlan-hw-parse"]:
		return "the NIC takes VLAN tags off, and XDP would not see them; `ethtool -K IF rxvlan off`"
	}
	return ""
}

// aggregates tells whether GRO joins TCP packets behind the driver's XDP.
func aggregates(ifindex uint32) bool {
	_, features, err := driverOf(ifindex)
	return err != nil || features["rx-gro"]
}
