package vrouter_test

import (
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// Requests of QEMU's docs/interop/vhost-user.rst.
const (
	vhostSetFeatures  = 2
	vhostSetOwner     = 3
	vhostSetMemTable  = 5
	vhostSetVringNum  = 8
	vhostSetVringAddr = 9
	vhostSetVringBase = 10
	vhostSetVringKick = 12
	vhostSetVringCall = 13

	vhostVersion  = 1       // of the protocol, in a message's flags
	virtioVersion = 1 << 32 // VIRTIO_F_VERSION_1
)

// A frontend is a VM's side of a vhost-user socket, of two rings that stay empty.
type frontend struct {
	t      *testing.T
	socket *net.UnixConn
	memory int    // a file descriptor
	calls  [2]int // of each ring, the one by which the device says that it has used something
}

const (
	frontendMemory = 1 << 20
	frontendAt     = 0x100000 // where the memory is for the VM
	frontendRing   = 256
)

func newFrontend(t *testing.T, path string) *frontend {
	t.Helper()
	return newFrontendWith(t, path, virtioVersion, frontendMemory)
}

// newFrontendWith is one that agrees to features, with so much memory.
func newFrontendWith(t *testing.T, path string, features uint64, memory int64) *frontend {
	t.Helper()
	f := newGuestMemory(t, path, features, memory)
	f.layRings()
	return f
}

// newGuestMemory is one that has told of its memory, and not yet where in it the rings are.
func newGuestMemory(t *testing.T, path string, features uint64, memory int64) *frontend {
	t.Helper()
	socket, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	f := &frontend{t: t, socket: socket}
	if f.memory, err = unix.MemfdCreate("vm", unix.MFD_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(f.memory) })
	f.cut(memory)
	f.send(vhostSetOwner, -1)
	f.send(vhostSetFeatures, -1, features)
	f.send(vhostSetMemTable, f.memory, uint32(1), uint32(0), uint64(frontendAt), uint64(memory), uint64(frontendAt), uint64(0))
	return f
}

// cut gives the memory another size.
func (f *frontend) cut(bytes int64) {
	f.t.Helper()
	if err := unix.Ftruncate(f.memory, bytes); err != nil {
		f.t.Fatal(err)
	}
}

// layRings tells where both rings are.
func (f *frontend) layRings() {
	f.t.Helper()
	for ring := range uint32(2) {
		at := uint64(frontendAt) + uint64(ring)*0x10000
		event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(func() { unix.Close(event) })
		f.calls[ring] = event
		f.send(vhostSetVringNum, -1, ring, uint32(frontendRing))
		f.send(vhostSetVringBase, -1, ring, uint32(0))
		f.send(vhostSetVringAddr, -1, ring, uint32(0), at, at+0x4000, at+0x8000, uint64(0)) // descriptors, used, available
		f.send(vhostSetVringCall, event, uint64(ring))
		f.send(vhostSetVringKick, event, uint64(ring))
	}
}

// send sends a request, with a file descriptor if it is not below 0.
func (f *frontend) send(request uint32, fd int, words ...any) {
	f.t.Helper()
	var body []byte
	for _, word := range words {
		body, _ = binary.Append(body, binary.LittleEndian, word) // its size is fixed
	}
	var message []byte
	for _, word := range []uint32{request, vhostVersion, uint32(len(body))} {
		message = binary.LittleEndian.AppendUint32(message, word)
	}
	var rights []byte
	if fd >= 0 {
		rights = unix.UnixRights(fd)
	}
	if _, _, err := f.socket.WriteMsgUnix(append(message, body...), rights, nil); err != nil {
		f.t.Fatalf("request %d: %v", request, err)
	}
}

// TestPollVhostTakesItsMemory: a VM that cuts its memory off, at whatever time, costs itself its packets and
// nobody else anything: the process goes on, and so do the other VMs.
func TestPollVhostTakesItsMemory(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	pid := n.pollPID()
	goesOn := func(t *testing.T) {
		cycles := func() uint64 {
			c := ask[control.Status](n, "status").Poll.Cores[0]
			return c.Busy + c.Idle
		}
		before := cycles()
		lab.Await(t, "the core has gone on", func() bool { return cycles() > before+100_000_000 })
		if s := ask[control.Status](n, "status"); s.Poll.PID != pid || s.Poll.Restarts != 0 {
			t.Errorf("process %d, not %d, after %d restarts: %s", s.Poll.PID, pid, s.Poll.Restarts, n.stderr.String())
		}
	}
	for name, take := range map[string]func(*frontend){
		"all of it":               func(f *frontend) { f.cut(0) },
		"all behind the rings":    func(f *frontend) { f.cut(0x20000); f.offer(frontendAt+0x80000, 100, 0, 0, 0, 1) },
		"all but a ring's middle": func(f *frontend) { f.cut(0x14000) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrontend(t, vm1.Vhost)
			lab.Await(t, "the VM is there", func() bool { return slices.Equal(n.unlinked(), []string{"vm2"}) })
			take(f)
			goesOn(t)
			f.socket.Close()
			lab.Await(t, "the VM is gone", func() bool { return len(n.unlinked()) == 2 })
		})
	}
	t.Run("before its rings are laid", func(t *testing.T) {
		f := newGuestMemory(t, vm1.Vhost, virtioVersion, frontendMemory)
		f.cut(0)
		f.layRings()
		goesOn(t)
		f.socket.Close()
		lab.Await(t, "the VM is gone", func() bool { return len(n.unlinked()) == 2 })
	})
	startVM(t, vm2, nil)
	sender := startVM(t, vm1, way(vm1, vm2))
	n.awaitMore("vm2")
	sender.end()
	n.awaitQuiet()
	s := n.addsUp()
	if s.Drops["spoofed_mac"] != 1 {
		t.Errorf("%d packets of zeros came from behind the rings, not 1", s.Drops["spoofed_mac"])
	}
	delete(s.Drops, "spoofed_mac")
	onlyFull(t, s)
}

// offer puts one descriptor into the ring that the VM sends by, and says how many there are to take.
func (f *frontend) offer(address uint64, length uint32, flags, next, head, available uint16) {
	f.t.Helper()
	memory, err := unix.Mmap(f.memory, 0, frontendMemory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.t.Fatal(err)
	}
	defer unix.Munmap(memory)
	ring := memory[0x10000:]
	binary.LittleEndian.PutUint64(ring, address)
	binary.LittleEndian.PutUint32(ring[8:], length)
	binary.LittleEndian.PutUint16(ring[12:], flags)
	binary.LittleEndian.PutUint16(ring[14:], next)
	for i := range frontendRing {
		binary.LittleEndian.PutUint16(ring[0x8004+2*i:], head)
	}
	binary.LittleEndian.PutUint16(ring[0x8002:], available)
}

// TestPollVhostBadRings: descriptors that lie stop nobody, and nothing of what they say is forwarded.
func TestPollVhostBadRings(t *testing.T) {
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	const next = 1 // VIRTQ_DESC_F_NEXT
	for name, lie := range map[string]func(*frontend){
		"an address outside":     func(f *frontend) { f.offer(1<<40, 100, 0, 0, 0, 1) },
		"an address at the end":  func(f *frontend) { f.offer(frontendAt+frontendMemory-8, 4096, 0, 0, 0, 1) },
		"all lengths":            func(f *frontend) { f.offer(frontendAt, 1<<32-1, 0, 0, 0, 1) },
		"no length":              func(f *frontend) { f.offer(frontendAt, 0, 0, 0, 0, 1) },
		"half a header":          func(f *frontend) { f.offer(frontendAt, 5, 0, 0, 0, 1) },
		"a loop":                 func(f *frontend) { f.offer(frontendAt, 100, next, 0, 0, 1) },
		"the next one outside":   func(f *frontend) { f.offer(frontendAt, 100, next, 60000, 0, 1) },
		"a head outside":         func(f *frontend) { f.offer(frontendAt, 100, 0, 0, 60000, 1) },
		"more than the ring has": func(f *frontend) { f.offer(frontendAt, 100, 0, 0, 0, 60000) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFrontend(t, n.config.Ports[0].Vhost)
			lab.Await(t, "the VM is there", func() bool { return slices.Equal(n.unlinked(), []string{"vm2"}) })
			lie(f)
			cycles := func() uint64 {
				c := ask[control.Status](n, "status").Poll.Cores[0]
				return c.Busy + c.Idle
			}
			before := cycles()
			lab.Await(t, "the core has gone on", func() bool { return cycles() > before+100_000_000 })
			f.socket.Close()
			lab.Await(t, "the VM is gone", func() bool { return len(n.unlinked()) == 2 })
		})
	}
	if s := ask[control.Status](n, "status"); s.Poll.Restarts != 0 || s.Problem != "" {
		t.Errorf("%d restarts, problem %q", s.Poll.Restarts, s.Problem)
	}
	if s := n.addsUp(); s.Forwarded.Packets+s.Answered.Packets != 0 {
		t.Errorf("%+v", s)
	}
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	startVM(t, vm2, nil)
	startVM(t, vm1, way(vm1, vm2))
	n.awaitMore("vm2")
}
