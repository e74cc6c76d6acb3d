package measure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/result"
)

// statistics is such a file: a header, a description of each name, and the numbers 100, 101, ...
func statistics(length uint32, names ...string) []byte {
	const header, description = 24, 16
	count := uint32(len(names))
	data := header + count*(description+length)
	var b []byte
	for _, word := range []uint32{0, length, count, header, header, data} {
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	for i, name := range names {
		for _, word := range []uint32{0, 0, uint32(8 * i), 0} {
			b = binary.NativeEndian.AppendUint32(b, word)
		}
		b = append(b, make([]byte, length)...)
		copy(b[len(b)-int(length):], name)
	}
	for i := range names {
		b = binary.NativeEndian.AppendUint64(b, uint64(100+i))
	}
	return b
}

func TestStatisticsOfKVM(t *testing.T) {
	file := statistics(48, "halt_exits", "exits", "exits_of_others")
	at, err := whereIs(bytes.NewReader(file), "exits")
	if err != nil || binary.NativeEndian.Uint64(file[at:]) != 101 {
		t.Errorf("at %d: %v", at, err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":          {nil, "reading KVM's statistics"},
		"cut off":          {file[:60], "what KVM's statistics are"},
		"not counted here": {statistics(48, "halt_exits"), `counts no "exits"`},
		"names too long":   {statistics(1<<20, "exits"), "names of 1048576 bytes"},
	} {
		if _, err := whereIs(bytes.NewReader(c.file), "exits"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExitsOfThisMachine asks KVM about a CPU of this process's own, which never ran.
func TestExitsOfThisMachine(t *testing.T) {
	p := openExits(os.Getpid())
	if _, err := p.read(); !errors.Is(err, errEmulated) {
		t.Errorf("a process without virtual CPUs: %v", err)
	}
	const createVM, createCPU = 0xae01, 0xae41
	kvm, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("not measured here: no KVM: ", err)
	}
	defer unix.Close(kvm)
	machine, err := unix.IoctlRetInt(kvm, createVM)
	if err != nil {
		t.Skip("not measured here: KVM makes no machine: ", err)
	}
	defer unix.Close(machine)
	cpu, err := unix.IoctlRetInt(machine, createCPU)
	if err != nil {
		t.Skip("not measured here: KVM makes no CPU: ", err)
	}
	defer unix.Close(cpu)
	p = openExits(os.Getpid())
	defer p.close()
	if n, err := p.read(); err != nil || n != 0 || len(p.cpus) != 1 {
		t.Errorf("%d exits of %d CPUs that never ran: %v", n, len(p.cpus), err)
	}
}

// TestExitsInAWindow: a count, or why there is none, and never a machine without either.
func TestExitsInAWindow(t *testing.T) {
	config := Config{VMs: []VM{{Name: "counted"}, {Name: "emulated"}}}
	none := read(vmReading{}, nil)
	s := sampler{
		before: Snapshot{config: config, vms: []reading[vmReading]{none, none}, exits: []reading[uint64]{read(uint64(5), nil), read(uint64(0), errEmulated)}},
		after:  Snapshot{config: config, vms: []reading[vmReading]{none, none}, exits: []reading[uint64]{read(uint64(12), nil), read(uint64(0), errEmulated)}},
	}
	s.vms()
	got := s.sample.VMs
	if got[0].Exits == nil || *got[0].Exits != 7 || got[0].ExitsMissing != "" || got[1] != (result.VMSample{VM: "emulated", ExitsMissing: errEmulated.Error()}) {
		t.Errorf("%+v", got)
	}
	if len(s.sample.Missing) > 0 {
		t.Errorf("an emulated machine is no probe that failed: %v", s.sample.Missing)
	}
}
