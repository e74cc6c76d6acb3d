package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// fastCan is what the driver's XDP can do now. A veth whose other end is down still says that it takes
// frames, and loses them unseen (veth_xdp_xmit finds no NAPI there).
func fastCan(ifindex uint32) (uint64, error) {
	can, err := xdpFeatures(ifindex)
	if err != nil {
		return 0, err
	}
	device, err := netlink.LinkByIndex(int(ifindex))
	if err != nil {
		return 0, fmt.Errorf("finding interface %d: %w", ifindex, err)
	}
	if device.Attrs().RawFlags&unix.IFF_RUNNING == 0 {
		can &^= xdpTransmit
	}
	return can, nil
}

// setDevices lists where frames can be sent. What is not there any more is taken out first.
func (d *Dataplane) setDevices(fabric uint32, result map[uint32]Fast) error {
	devices := d.fast.objects.VrDevs
	if devices == nil {
		return nil
	}
	vifs, err := d.Ports()
	if err != nil {
		return fmt.Errorf("listing the interfaces that have a vif: %w", err)
	}
	vifs[fabric] = 0
	var failed []error
	var vif, ifindex uint32
	for entries := devices.Iterate(); entries.Next(&vif, &ifindex); {
		if slot, known := vifs[ifindex]; known && slot == vif && result[ifindex].To {
			continue
		}
		if err := devices.Delete(vif); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			failed = append(failed, fmt.Errorf("taking interface %d out of the fast path: %w", ifindex, err))
		}
	}
	for ifindex, f := range result {
		if vif, known := vifs[ifindex]; known && f.To {
			if err := devices.Put(vif, ifindex); err != nil {
				failed = append(failed, fmt.Errorf("putting interface %d into the fast path: %w", ifindex, err))
			}
		}
	}
	return errors.Join(failed...)
}

// FastChanged tells whether the drivers of what is fast can do something else than when it was chosen.
func (d *Dataplane) FastChanged() bool {
	for ifindex, could := range d.fast.chosen {
		if can, err := fastCan(ifindex); err == nil && can != could {
			return true
		}
	}
	return false
}

// FastCount is how many packets XDP of an interface forwarded, and how many it left to tc.
type FastCount struct{ Taken, Left uint64 }

// FastCount is what XDP of a vif, or of the fabric for 0, took and left.
func (d *Dataplane) FastCount(vif uint32) (sum FastCount, err error) {
	if d.fast.objects.VrFastCounts == nil {
		return sum, nil
	}
	var perCPU []fastVrFastCount
	if err := d.fast.objects.VrFastCounts.Lookup(vif, &perCPU); err != nil {
		return sum, fmt.Errorf("reading the fast path's counters of vif %d: %w", vif, err)
	}
	for _, c := range perCPU {
		sum.Taken += c.Taken
		sum.Left += c.Left
	}
	return sum, nil
}
