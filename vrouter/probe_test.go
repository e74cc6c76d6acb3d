package vrouter_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/internal/lab"
)

const patience = 5 * time.Second

func cubic(_, _ string, raw syscall.RawConn) error {
	var err error
	raw.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic") })
	return err
}

// receive takes one connection and gives what comes to a writer, until the sender ends it.
func receive(listener net.Listener, to io.Writer) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = io.Copy(to, patient{conn})
	return err
}

// patient bounds each silence of a connection, and not how long all of it takes: that is the machine's matter.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(4 * patience)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// expected are the bytes that are still to come. Bytes are compared as they come, because a
// cryptographic sum at both ends takes longer than the transfer.
type expected []byte

func (e *expected) Write(b []byte) (int, error) {
	if !bytes.HasPrefix(*e, b) {
		return 0, errOtherBytes
	}
	*e = (*e)[len(b):]
	return len(b), nil
}

var errOtherBytes = errors.New("other bytes than were sent")

// udpSocket opens a UDP socket of a container at a port, 0 for any.
func udpSocket(t *testing.T, c *container, port uint16) *net.UDPConn {
	t.Helper()
	var conn *net.UDPConn
	c.Do(func() (err error) {
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(c.address, port)))
		return err
	})
	t.Cleanup(func() { conn.Close() })
	conn.SetReadBuffer(8 << 20)
	return conn
}

// udpAggregate has the kernel send count datagrams of size bytes as one aggregate (UDP_SEGMENT), and
// checks that all bytes arrive. The receiver takes aggregates (UDP_GRO) where they cross the fabric
// whole: the kernel cannot cut one that BPF took out of a tunnel (see vr_do_decap). What a CPU had no room
// for is sent again, because its queue is the whole machine's, and other programs' packets may fill it.
func udpAggregate(t *testing.T, from, to *container, size, count int, whole bool) {
	t.Helper()
	for range 5 {
		dropped := lab.Dropped(t)
		err := aggregateOnce(t, from, to, size, count, whole)
		if err == nil {
			return
		}
		if lab.Dropped(t) == dropped {
			t.Fatalf("an aggregate of %d x %d bytes from %s to %s: %v", count, size, from.address, to.address, err)
		}
		t.Logf("CPUs dropped %d packets while an aggregate was under way: %v", lab.Dropped(t)-dropped, err)
	}
	t.Fatal("CPUs had no room for packets, time and again")
}

func aggregateOnce(t *testing.T, from, to *container, size, count int, whole bool) error {
	t.Helper()
	receiver, sender := udpSocket(t, to, 0), udpSocket(t, from, 0)
	udpOption(t, sender, unix.UDP_SEGMENT, size)
	if whole {
		udpOption(t, receiver, unix.UDP_GRO, 1)
	}
	payload := make([]byte, size*count)
	rand.NewChaCha8([32]byte{2}).Read(payload)
	if err := sendAggregate(t, sender, receiver.LocalAddr(), payload, size); err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	got, buffer := []byte(nil), make([]byte, 65536)
	for len(got) < len(payload) {
		receiver.SetReadDeadline(time.Now().Add(patience))
		n, err := receiver.Read(buffer)
		if err != nil {
			return fmt.Errorf("%d bytes of %d arrived: %w", len(got), len(payload), err)
		}
		got = append(got, buffer[:n]...)
	}
	if !bytes.Equal(got, payload) {
		return errOtherBytes
	}
	return nil
}

// sendAggregate sends by a socket that has UDP_SEGMENT. Where the sender's device finishes no checksums,
// kernels before 6.11 make no aggregates of UDP (EIO; commit 10154dbded6d): there it sends one by one.
func sendAggregate(t *testing.T, sender *net.UDPConn, to net.Addr, payload []byte, size int) error {
	t.Helper()
	_, err := sender.WriteTo(payload, to)
	if !errors.Is(err, unix.EIO) {
		return err
	}
	udpOption(t, sender, unix.UDP_SEGMENT, 0)
	for rest := payload; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		if _, err := sender.WriteTo(rest[:min(size, len(rest))], to); err != nil {
			return err
		}
	}
	return nil
}

func udpOption(t *testing.T, conn *net.UDPConn, option, value int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, option, value) })
	if err != nil {
		t.Skip("skip: needs UDP_SEGMENT and UDP_GRO (Linux 5.0)")
	}
}

// capture reads all frames that pass an interface until stop is called, which returns them as the
// text of a pcap file.
func capture(t *testing.T, n *node, name string) (stop func() []byte) {
	t.Helper()
	fd := -1
	n.Do(func() (err error) {
		all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: n.Link(name).Attrs().Index})
	})
	return func() []byte {
		defer unix.Close(fd)
		var frames [][]byte
		buffer := make([]byte, 1<<17)
		for {
			size, _, err := unix.Recvfrom(fd, buffer, 0)
			if err != nil {
				return pcapOf(frames...)
			}
			frames = append(frames, bytes.Clone(buffer[:size]))
		}
	}
}

// pcapOf is a file of the classic format: microseconds, Ethernet.
func pcapOf(frames ...[]byte) []byte {
	file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	for _, frame := range frames {
		for _, word := range []int{0, 0, len(frame), len(frame)} {
			file = binary.LittleEndian.AppendUint32(file, uint32(word))
		}
		file = append(file, frame...)
	}
	return file
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
