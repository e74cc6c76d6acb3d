package kernel

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// fakeDevices translate programs, but for some interfaces.
type fakeDevices struct {
	refuse map[uint32]error
	puts   []string
	live   map[uint32]bool
}

type fakeHeld struct {
	devices *fakeDevices
	ifindex uint32
}

func (h fakeHeld) Close() error { delete(h.devices.live, h.ifindex); return nil }

func (f *fakeDevices) put(program string, _ func(*ebpf.CollectionSpec) map[string]*ebpf.Map, ifindex uint32) (io.Closer, error) {
	f.puts = append(f.puts, program)
	if err := f.refuse[ifindex]; err != nil {
		return nil, err
	}
	f.live[ifindex] = true
	return fakeHeld{f, ifindex}, nil
}

// TestSetHardware: each interface whose fast path is on is tried once, a refusal is told, and what is in a
// device ends with the wish, or with the fast path.
func TestSetHardware(t *testing.T) {
	const fabric, port, other, slow = 1, 2, 3, 4
	devices := &fakeDevices{refuse: map[uint32]error{other: errors.New("no room")}, live: make(map[uint32]bool)}
	d := &Dataplane{devices: inDevices{at: devices}}
	fast := map[uint32]Fast{fabric: {From: true}, port: {From: true}, other: {From: true}, slow: {Why: "checksums"}}
	for range 2 {
		result, err := d.SetHardware(true, fabric, fast)
		if err != nil || len(result) != 4 || result[fabric] != nil || result[port] != nil || result[other].Error() != "no room" {
			t.Fatalf("%v, %v", result, err)
		}
		if why := result[slow].Error(); why != "its fast path is off: checksums" {
			t.Errorf("%s", why)
		}
	}
	if all := strings.Join(devices.puts, " "); len(devices.puts) != 3 || strings.Count(all, "vr_fast_fabric") != 1 {
		t.Errorf("programs were put: %v", devices.puts)
	}
	fast[port] = Fast{Why: "it is off now"}
	if _, err := d.SetHardware(true, fabric, fast); err != nil || devices.live[port] || !devices.live[fabric] {
		t.Errorf("%v: devices have programs: %v", err, devices.live)
	}
	if result, err := d.SetHardware(false, fabric, fast); err != nil || len(result) != 0 || len(devices.live) != 0 {
		t.Errorf("%v, %v: devices have programs: %v", result, err, devices.live)
	}
}

// TestVethTranslatesNothing: the kernel refuses to load XDP into a device whose driver translates none.
func TestVethTranslatesNothing(t *testing.T) {
	bed, _ := newFastBed(t)
	bed.here.Do(func() error {
		fabric := bed.ifindex["fabric"]
		bed.plane.devices.at = driverXDP{}
		result, err := bed.plane.SetHardware(true, fabric, map[uint32]Fast{fabric: {From: true}})
		if why := result[fabric]; !errors.Is(why, unix.EINVAL) && !errors.Is(why, unix.EOPNOTSUPP) || !strings.Contains(why.Error(), "loading XDP into the device") {
			t.Errorf("a veth: %v", why)
		}
		return err
	})
	if why := func() (err error) {
		bed.here.Do(func() error { err = OffloadsFilters(bed.ifindex["fabric"]); return nil })
		return err
	}(); why == nil || !strings.Contains(why.Error(), "hw-tc-offload") {
		t.Errorf("a veth takes filters: %v", why)
	}
}
