package vrouter_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

// What a VM may agree to: linux/virtio_net.h.
const (
	virtioCSUM      = 1 << 0
	virtioGuestCSUM = 1 << 1
	virtioGuestTSO4 = 1 << 7
	virtioGuestTSO6 = 1 << 8
	virtioHostTSO4  = 1 << 11
	virtioHostTSO6  = 1 << 12
	virtioHostECN   = 1 << 13

	virtioAll = virtioCSUM | virtioGuestCSUM | virtioGuestTSO4 | virtioGuestTSO6 | virtioHostTSO4 | virtioHostTSO6 | virtioHostECN
)

// The rings of a VM's memory: ring 0 is what it receives by, ring 1 what it sends by. Behind them lie
// buffers, one for each descriptor that is used.
const (
	ringBytes     = 0x10000
	ringUsed      = 0x4000
	ringAvailable = 0x8000
	virtioHeader  = 12
	vmBuffers     = 64 // each way
	vmBufferBytes = 68 << 10
	vmBuffersAt   = 2 * ringBytes
	vmMemory      = vmBuffersAt + 2*vmBuffers*vmBufferBytes
	descriptorIn  = 2 // VIRTQ_DESC_F_WRITE
)

// A guest is a VM's network device whose other end is a namespace's: a tap there, between which and the rings
// of a vhost-user socket frames are carried with their headers, as a hypervisor does.
type guest struct {
	*frontend
	memory []byte
	next   [2]uint16 // of each ring, what was made available until now
	seen   [2]uint16 // and what of it was used
}

// word is where a ring says how far it is, with its flags.
func (g *guest) word(ring, at int) *uint32 {
	return (*uint32)(unsafe.Pointer(&g.memory[ring*ringBytes+at]))
}

func (g *guest) used(ring int) uint16 { return uint16(atomic.LoadUint32(g.word(ring, ringUsed)) >> 16) }

func (g *guest) buffer(ring, i int) []byte {
	at := vmBuffersAt + (ring*vmBuffers+i)*vmBufferBytes
	return g.memory[at : at+vmBufferBytes]
}

// offerBuffer makes a buffer available: to be filled, or so many bytes to be sent.
func (g *guest) offerBuffer(ring, i, bytes int) {
	flags := uint16(0)
	if ring == 0 {
		flags = descriptorIn
	}
	d := g.memory[ring*ringBytes+16*i:]
	binary.LittleEndian.PutUint64(d, uint64(frontendAt+vmBuffersAt+(ring*vmBuffers+i)*vmBufferBytes))
	binary.LittleEndian.PutUint32(d[8:], uint32(bytes))
	binary.LittleEndian.PutUint16(d[12:], flags)
	slot := g.memory[ring*ringBytes+ringAvailable+4+2*int(g.next[ring]%frontendRing):]
	binary.LittleEndian.PutUint16(slot, uint16(i))
	g.next[ring]++
	atomic.StoreUint32(g.word(ring, ringAvailable), uint32(g.next[ring])<<16)
}

// takeUsed is the next buffer that was used, and its bytes; none if i is below 0.
func (g *guest) takeUsed(ring int) (i, bytes int) {
	if g.used(ring) == g.seen[ring] {
		return -1, 0
	}
	e := g.memory[ring*ringBytes+ringUsed+4+8*int(g.seen[ring]%frontendRing):]
	g.seen[ring]++
	return int(binary.LittleEndian.Uint32(e)), int(binary.LittleEndian.Uint32(e[4:]))
}

func newGuest(t *testing.T, path string, features uint64) *guest {
	t.Helper()
	g := &guest{frontend: newFrontendWith(t, path, features, vmMemory)}
	var err error
	if g.memory, err = unix.Mmap(g.frontend.memory, 0, vmMemory, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	for i := range vmBuffers {
		g.offerBuffer(0, i, vmBufferBytes)
	}
	return g
}

// transmit puts a frame with its virtio-net header into the ring, if there is room.
func (g *guest) transmit(frame []byte) bool {
	for {
		i, _ := g.takeUsed(1)
		if i < 0 {
			break
		}
	}
	if g.next[1]-g.seen[1] >= vmBuffers {
		return false
	}
	i := int(g.next[1] % vmBuffers) // buffers are used in order
	g.offerBuffer(1, i, copy(g.buffer(1, i), frame))
	return true
}

// startGuest is a VM at a port, whose stack is a namespace's, with what it may leave to its device.
func (n *node) startGuest(p config.Port, features uint64) *container {
	n.t.Helper()
	c := &container{Namespace: lab.NewNamespace(n.t), address: p.Address}
	tap := -1
	c.Do(func() (err error) {
		tap, err = openTap(p.MAC)
		return err
	})
	c.Address("eth0", p.Address.String()+"/24")
	if p.Address6.IsValid() {
		lab.EnableIPv6(c.Namespace, "eth0")
		c.Address("eth0", p.Address6.String()+"/64")
	}
	n.Must("saying what the tap takes", unix.IoctlSetInt(tap, unix.TUNSETOFFLOAD, int(tapOffloads(features))))
	g := newGuest(n.t, p.Vhost, virtioVersion|features)
	stop, ended := make(chan struct{}), make(chan struct{}, 2)
	go g.toRing(tap, stop, ended)
	go g.fromRing(tap, stop, ended)
	n.t.Cleanup(func() {
		close(stop)
		<-ended
		<-ended
		unix.Close(tap)
		_ = unix.Munmap(g.memory)
	})
	return c
}

// openTap makes eth0 of the namespace.
func openTap(mac config.MAC) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	request, err := unix.NewIfreq("eth0")
	if err != nil {
		return -1, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return -1, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, virtioHeader); err != nil {
		return -1, err
	}
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return -1, err
	}
	if err := netlink.LinkSetHardwareAddr(link, mac[:]); err != nil {
		return -1, err
	}
	return fd, netlink.LinkSetUp(link)
}

// tapOffloads are what the namespace's stack may leave to the tap, and so to whom the frames are for.
func tapOffloads(features uint64) (flags uint64) {
	for _, f := range []struct{ feature, flag uint64 }{
		{virtioCSUM, unix.TUN_F_CSUM}, {virtioHostTSO4, unix.TUN_F_TSO4}, {virtioHostTSO6, unix.TUN_F_TSO6}, {virtioHostECN, unix.TUN_F_TSO_ECN},
	} {
		if features&f.feature != 0 {
			flags |= f.flag
		}
	}
	return flags
}

const guestWait = 50 // milliseconds until a guest looks whether it is to end

func readable(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, guestWait)
	return err == nil && n > 0
}

func ends(stop chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// toRing carries what the namespace sends.
func (g *guest) toRing(tap int, stop, ended chan struct{}) {
	frame := make([]byte, vmBufferBytes)
	for !ends(stop) {
		size, err := unix.Read(tap, frame)
		if err != nil {
			readable(tap)
			continue
		}
		for !g.transmit(frame[:size]) && !ends(stop) {
			readable(g.calls[1]) // a device that has taken some says so
		}
	}
	ended <- struct{}{}
}

// fromRing carries what the namespace receives.
func (g *guest) fromRing(tap int, stop, ended chan struct{}) {
	for !ends(stop) {
		i, size := g.takeUsed(0)
		if i < 0 {
			if readable(g.calls[0]) {
				_, _ = unix.Read(g.calls[0], make([]byte, 8)) // what it counts does not matter
			}
			continue
		}
		_, _ = unix.Write(tap, g.buffer(0, i)[:size]) // what a tap has no room for is lost, as in a VM
		g.offerBuffer(0, i, vmBufferBytes)
	}
	ended <- struct{}{}
}
