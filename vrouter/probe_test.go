package vrouter_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
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
)

const patience = 5 * time.Second

// ping sends an echo request with so many bytes of payload and waits for its reply.
func ping(from *container, to netip.Addr, payload int) error {
	var fd int
	var err error
	from.Do(func() error {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		return err
	})
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO); err != nil {
		return err
	}
	deadline := unix.NsecToTimeval(int64(patience))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &deadline); err != nil {
		return err
	}
	request := echoRequest(payload)
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrInet4{Addr: to.As4()}); err != nil {
		return fmt.Errorf("sending %d bytes: %w", len(request), err)
	}
	return awaitEcho(fd, request)
}

func echoRequest(payload int) []byte {
	request := append([]byte{8, 0, 0, 0}, make([]byte, 4+payload)...)
	binary.BigEndian.PutUint32(request[4:], rand.Uint32())
	for i := range payload {
		request[8+i] = byte(i)
	}
	binary.BigEndian.PutUint16(request[2:], checksum(request))
	return request
}

// checksum is RFC 1071's.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i]) << 8
		if i+1 < len(b) {
			sum += uint32(b[i+1])
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

func awaitEcho(fd int, request []byte) error {
	buffer := make([]byte, 65536)
	for {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			return fmt.Errorf("waiting for the echo: %w", err)
		}
		icmp := buffer[20:n]
		switch {
		case len(icmp) >= 8 && icmp[0] == 0 && bytes.Equal(icmp[4:], request[4:]):
			if checksum(icmp) != 0 {
				return fmt.Errorf("the echo's checksum is wrong")
			}
			return nil
		case len(icmp) >= 8 && icmp[0] == 3 && icmp[1] == 4:
			if checksum(icmp) != 0 {
				return fmt.Errorf("the checksum of ICMP fragmentation needed is wrong")
			}
			return tooBig{int(binary.BigEndian.Uint16(icmp[6:]))}
		}
	}
}

// tooBig is ICMP's "fragmentation needed", with the MTU that it names.
type tooBig struct{ mtu int }

func (e tooBig) Error() string { return fmt.Sprintf("fragmentation needed, MTU %d", e.mtu) }

// tcp sends so many random bytes and checks what arrived. It gives the size of the segments that the
// connection began with, in bytes of payload.
func tcp(t *testing.T, from, to *container, size int) (mss int) {
	t.Helper()
	var listener net.Listener
	to.Do(func() (err error) {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(to.address, 0).String())
		return err
	})
	defer listener.Close()
	sums := make(chan [32]byte, 1)
	go func() { sums <- receive(listener, 4*patience) }()
	var conn net.Conn
	from.Do(func() (err error) {
		conn, err = (&net.Dialer{Timeout: patience, Control: cubic}).DialContext(context.Background(), "tcp", listener.Addr().String())
		return err
	})
	defer conn.Close()
	mss = maxSegment(t, conn)
	conn.SetDeadline(time.Now().Add(4 * patience))
	payload := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(payload)
	if _, err := conn.Write(payload); err != nil {
		t.Fatalf("sending over TCP: %v", err)
	}
	conn.Close()
	select {
	case sum := <-sums:
		if sum != sha256.Sum256(payload) {
			t.Error("TCP delivered other bytes than were sent")
		}
	case <-time.After(4 * patience):
		t.Fatal("TCP did not deliver in time")
	}
	return mss
}

func maxSegment(t *testing.T, conn net.Conn) (mss int) {
	t.Helper()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) {
			var info *unix.TCPInfo
			if info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
				mss = int(info.Snd_mss)
			}
		})
	}
	if err != nil {
		t.Fatalf("asking for the segments' size: %v", err)
	}
	return mss
}

func cubic(_, _ string, raw syscall.RawConn) error {
	var err error
	raw.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic") })
	return err
}

func receive(listener net.Listener, limit time.Duration) (sum [32]byte) {
	conn, err := listener.Accept()
	if err != nil {
		return sum
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(limit))
	h := sha256.New()
	if _, err := io.Copy(h, conn); err != nil {
		return sum
	}
	return [32]byte(h.Sum(nil))
}

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
// whole: the kernel cannot cut one that BPF took out of a tunnel (see vr_do_decap).
func udpAggregate(t *testing.T, from, to *container, size, count int, whole bool) {
	t.Helper()
	receiver, sender := udpSocket(t, to, 0), udpSocket(t, from, 0)
	udpOption(t, sender, unix.UDP_SEGMENT, size)
	if whole {
		udpOption(t, receiver, unix.UDP_GRO, 1)
	}
	payload := make([]byte, size*count)
	rand.NewChaCha8([32]byte{2}).Read(payload)
	if _, err := sender.WriteTo(payload, receiver.LocalAddr()); err != nil {
		t.Fatalf("sending an aggregate of %d x %d bytes: %v", count, size, err)
	}
	got, buffer := []byte(nil), make([]byte, 65536)
	for len(got) < len(payload) {
		receiver.SetReadDeadline(time.Now().Add(patience))
		n, err := receiver.Read(buffer)
		if err != nil {
			t.Fatalf("%d bytes of %d arrived: %v", len(got), len(payload), err)
		}
		got = append(got, buffer[:n]...)
	}
	if !bytes.Equal(got, payload) {
		t.Error("UDP delivered other bytes than were sent")
	}
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
		// The header and the records of the classic format: microseconds, Ethernet.
		file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
		file = append(file, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
		buffer := make([]byte, 1<<17)
		for {
			size, _, err := unix.Recvfrom(fd, buffer, 0)
			if err != nil {
				return file
			}
			for _, word := range []int{0, 0, size, size} {
				file = binary.LittleEndian.AppendUint32(file, uint32(word))
			}
			file = append(file, buffer[:size]...)
		}
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
