package kernel

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
)

// Fast is what XDP forwards of an interface's packets without tc, and why not more.
type Fast struct {
	From bool // what comes in here
	To   bool // what goes out here: into the container, or on the fabric
	Why  string
}

// FastCount is how many packets XDP of an interface forwarded, and how many it left to tc.
type FastCount struct{ Taken, Left uint64 }

// fastPath is the loaded programs of the fast path.
type fastPath struct {
	objects fastObjects
	fabric  bool              // the fabric has its program
	chosen  map[uint32]uint64 // interfaces whose packets XDP forwards, and what their drivers could do

	mu       sync.Mutex // of what follows: a watch ends at any time
	tcp      bool       // TCP from the fabric goes this way, too
	active   bool       // something is chosen
	hands    bool
	watchers int
}

func (f *fastPath) on() bool { return len(f.chosen) > 0 }

// The flags of enum vr_fast_flag.
const (
	fastOn = 1 << iota
	fastTCP
	fastHand
)

// setFlags tells the programs whether they hand over tunnel packets that they leave.
func (f *fastPath) setFlags(hands bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active, f.hands = f.on(), hands
	return f.writeFlags()
}

// watch lets all packets go by tc while somebody watches there.
func (f *fastPath) watch(change int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers += change
	return f.writeFlags()
}

func (f *fastPath) writeFlags() error {
	if f.objects.VrFastFlags == nil {
		return nil
	}
	var flags uint32
	if f.watchers == 0 && f.active {
		flags = fastOn
	}
	if f.tcp {
		flags |= fastTCP
	}
	if f.hands {
		flags |= fastHand
	}
	if err := f.objects.VrFastFlags.Put(uint32(0), flags); err != nil {
		return fmt.Errorf("telling the fast path what to do: %w", err)
	}
	return nil
}

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

// SetFast brings the interfaces to what is wanted, where that can be and is safe, and says what became
// of each. An error is of one that is asked for in so many words. The programs at tc must be attached,
// and SetReceive done. Again is no error.
func (d *Dataplane) SetFast(w FastWish) (map[uint32]Fast, error) {
	result := d.chooseFast(w)
	if err := d.needFast(result); err != nil {
		for ifindex := range result { // a kernel that refuses the programs does without, unless it must not
			result[ifindex] = Fast{Why: err.Error()}
		}
		if w.demands() {
			return result, err
		}
	}
	d.fast.chosen = make(map[uint32]uint64)
	failed := []error{d.fabricFast(result, w)}
	for ifindex, f := range result {
		if f.From && ifindex != w.Fabric {
			f, err := d.attachFast(ifindex, w)
			result[ifindex] = f
			failed = append(failed, err)
		}
	}
	for ifindex := range d.xdp.byIfindex {
		if ifindex != w.Fabric && !result[ifindex].From {
			failed = append(failed, d.xdp.detach(ifindex))
		}
	}
	failed = append(failed, d.setDevices(result), d.fast.setFlags(d.hands))
	return result, errors.Join(failed...)
}

// fabricFast does the fabric's part, before the ports': what they would be without it they learn here.
func (d *Dataplane) fabricFast(result map[uint32]Fast, w FastWish) (err error) {
	f := result[w.Fabric]
	d.fast.fabric = f.From
	if f.From {
		if f, err = d.attachFast(w.Fabric, w); !f.From {
			d.fast.fabric = false
		}
	}
	result[w.Fabric] = f
	if !d.fast.fabric {
		for ifindex, want := range w.Ports {
			if result[ifindex].From && want != config.FastOn {
				result[ifindex] = Fast{Why: "the fabric is not fast: " + f.Why}
			}
		}
		err = errors.Join(err, d.setFabricXDP(w.Fabric))
	}
	tcp := d.fast.fabric && !aggregates(w.Fabric) // asked now: on a veth, XDP brings GRO
	d.fast.mu.Lock()
	d.fast.tcp = tcp
	d.fast.mu.Unlock()
	return err
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

// attachFast puts a program at an interface, and looks whether frames can be sent there: many drivers
// take them only once they have a program.
func (d *Dataplane) attachFast(ifindex uint32, w FastWish) (Fast, error) {
	program, want := d.fast.objects.VrFastVif, w.Ports[ifindex]
	if ifindex == w.Fabric {
		program, want = d.fast.objects.VrFastFabric, w.On
	}
	if err := d.xdp.attach(ifindex, program); err != nil {
		err = fmt.Errorf("attaching XDP to %s: %w", nameOf(ifindex), err)
		if want != config.FastOn {
			return Fast{Why: err.Error()}, nil
		}
		return Fast{Why: err.Error()}, fmt.Errorf("%w; `\"fast\": \"auto\"` does without", err)
	}
	can, err := fastCan(ifindex)
	d.fast.chosen[ifindex] = can
	f := Fast{From: true, To: can&xdpTransmit != 0, Why: asConfigured}
	if want != config.FastOn {
		f.Why = "nothing here is left to a device"
	}
	switch {
	case err != nil:
		f.Why = err.Error()
	case !f.To:
		f.Why = "what goes out here goes by tc: the driver takes no frames of XDP; a veth does while its other end is up and has GRO (`ethtool -K IF gro on` there) or XDP"
	}
	return f, nil
}

// nameOf is for errors.
func nameOf(ifindex uint32) string {
	if device, err := net.InterfaceByIndex(int(ifindex)); err == nil {
		return device.Name
	}
	return fmt.Sprintf("interface %d", ifindex)
}

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

// needFast loads the programs if some interface takes the fast path.
func (d *Dataplane) needFast(result map[uint32]Fast) error {
	for _, f := range result {
		if f.From && d.fast.objects.VrFastVif == nil {
			return d.loadFast()
		}
	}
	return nil
}

func (d *Dataplane) loadFast() error {
	spec, err := loadFast()
	if err != nil {
		return fmt.Errorf("reading the fast path's programs: %w", err)
	}
	shared := d.live()
	maps.DeleteFunc(shared, func(name string, _ *ebpf.Map) bool { return spec.Maps[name] == nil })
	options := &ebpf.CollectionOptions{MapReplacements: shared}
	if d.options.Pin { // so that counters go on
		options.Maps.PinPath = d.folder()
		for name, m := range spec.Maps {
			if shared[name] == nil {
				m.Pinning = ebpf.PinByName
			}
		}
	}
	if err := spec.LoadAndAssign(&d.fast.objects, options); err != nil {
		return fmt.Errorf("loading the fast path's programs: %w", err)
	}
	return nil
}

// setDevices lists where frames can be sent. What is not there any more is taken out first.
func (d *Dataplane) setDevices(result map[uint32]Fast) error {
	devices := d.fast.objects.VrDevs
	if devices == nil {
		return nil
	}
	var stale []uint32
	var ifindex, to uint32
	for entries := devices.Iterate(); entries.Next(&ifindex, &to); {
		if !result[ifindex].To {
			stale = append(stale, ifindex)
		}
	}
	for _, ifindex := range stale {
		if err := devices.Delete(ifindex); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("taking interface %d out of the fast path: %w", ifindex, err)
		}
	}
	for ifindex, f := range result {
		if !f.To {
			continue
		}
		if err := devices.Put(ifindex, ifindex); err != nil {
			return fmt.Errorf("putting interface %d into the fast path: %w", ifindex, err)
		}
	}
	return nil
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
