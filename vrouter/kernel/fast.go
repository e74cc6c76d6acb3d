package kernel

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
)

// Fast is what XDP forwards of an interface's packets without tc, and why not more.
type Fast struct {
	From bool // what comes in here
	To   bool // what goes out here: into the container, or on the fabric
	Why  string
}

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
	failed = append(failed, d.setDevices(w.Fabric, result), d.fast.setFlags(d.hands))
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

// attachFast puts a program at an interface, and looks whether frames can be sent there: many drivers
// take them only once they have a program.
func (d *Dataplane) attachFast(ifindex uint32, w FastWish) (Fast, error) {
	program, want := d.fast.objects.VrFastVif, w.Ports[ifindex]
	if ifindex == w.Fabric {
		program, want = d.fast.objects.VrFastFabric, w.On
	}
	if err := d.xdp.attach(ifindex, program); err != nil {
		err = fmt.Errorf("attaching XDP to %s: %w", nameOf(ifindex), xdpRefused(ifindex, err))
		if want != config.FastOn {
			return Fast{Why: err.Error()}, nil
		}
		return Fast{Why: err.Error()}, fmt.Errorf("%w; `\"fast\": \"auto\"` does without", err)
	}
	can, err := fastCan(ifindex)
	if err != nil && want == config.FastOn { // nothing would ever be forwarded
		return Fast{Why: err.Error()}, errors.Join(fmt.Errorf("%w; `\"fast\": \"auto\"` does without", err), d.xdp.detach(ifindex))
	}
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
	shared := d.over(spec)
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
