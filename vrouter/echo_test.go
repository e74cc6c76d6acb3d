package vrouter_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// An icmp is how the sockets of a family send it: whole, as large as the interface allows.
type icmp struct{ family, protocol, level, discover, whole int }

var (
	icmp4 = icmp{unix.AF_INET, unix.IPPROTO_ICMP, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO}
	// PROBE: whatever an earlier answer said.
	icmp6 = icmp{unix.AF_INET6, unix.IPPROTO_ICMPV6, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE}
)

// exchange sends a request, and gives what comes back to an answer's reader until that is done.
func (i icmp) exchange(from *container, to unix.Sockaddr, request []byte, answer func(packet []byte) (done bool, err error)) error {
	var fd int
	from.Do(func() (err error) {
		fd, err = unix.Socket(i.family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, i.protocol)
		return err
	})
	defer unix.Close(fd)
	limit := unix.NsecToTimeval(int64(patience))
	if err := errors.Join(unix.SetsockoptInt(fd, i.level, i.discover, i.whole),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)); err != nil {
		return err
	}
	if err := unix.Sendto(fd, request, 0, to); err != nil {
		return fmt.Errorf("sending %d bytes: %w", len(request), err)
	}
	buffer := make([]byte, 65536)
	for {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			return fmt.Errorf("waiting for the echo: %w", err)
		}
		if done, err := answer(buffer[:n]); done {
			return err
		}
	}
}

// ping sends an echo request with so many bytes of payload and waits for its reply.
func ping(from *container, to netip.Addr, payload int) error {
	request := echoRequest(8, payload)
	return icmp4.exchange(from, &unix.SockaddrInet4{Addr: to.As4()}, request, func(packet []byte) (done bool, err error) {
		icmp := packet[20:]
		switch {
		case len(icmp) >= 8 && icmp[0] == 0 && bytes.Equal(icmp[4:], request[4:]):
			if checksum(icmp) != 0 {
				err = errors.New("the echo's checksum is wrong")
			}
			return true, err
		case len(icmp) >= 8 && icmp[0] == 3 && icmp[1] == 4:
			if checksum(icmp) != 0 {
				return true, errors.New("the checksum of ICMP fragmentation needed is wrong")
			}
			return true, tooBig{int(binary.BigEndian.Uint16(icmp[6:]))}
		}
		return false, nil
	})
}

// ping6 is ping by ICMPv6, whose checksums the kernel makes and checks.
func ping6(from *container, to netip.Addr, payload int) error {
	request := echoRequest(128, payload)
	return icmp6.exchange(from, &unix.SockaddrInet6{Addr: to.As16()}, request, func(icmp []byte) (done bool, err error) {
		switch {
		case len(icmp) >= 8 && icmp[0] == 129 && bytes.Equal(icmp[4:], request[4:]):
			return true, nil
		case len(icmp) >= 8 && icmp[0] == 2:
			return true, tooBig{int(binary.BigEndian.Uint32(icmp[4:]))}
		}
		return false, nil
	})
}

// mtu4 and mtu6 check that the largest packet goes from a1 to b1, and what one byte more is answered with.
func mtu4(t *testing.T, b *bed, mtu int) {
	t.Helper()
	largest(t, mtu, mtu-28, func(payload int) error { return ping(b.a1, b.b1.address, payload) })
}

func mtu6(t *testing.T, b *bed, mtu int) {
	t.Helper()
	largest(t, mtu, mtu-48, func(payload int) error { return ping6(b.a1.six(), b.b1.six().address, payload) })
}

func largest(t *testing.T, mtu, payload int, ping func(payload int) error) {
	t.Helper()
	if err := ping(payload); err != nil {
		t.Errorf("the largest packet: %v", err)
	}
	err := ping(payload + 1)
	var big tooBig
	if !errors.As(err, &big) || big.mtu != mtu {
		t.Errorf("one byte more: %v, not an answer with the MTU %d", err, mtu)
	}
}

func echoRequest(kind byte, payload int) []byte {
	request := append([]byte{kind, 0, 0, 0}, make([]byte, 4+payload)...)
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

// tooBig is ICMP's "fragmentation needed", with the MTU that it names.
type tooBig struct{ mtu int }

func (e tooBig) Error() string { return fmt.Sprintf("fragmentation needed, MTU %d", e.mtu) }
