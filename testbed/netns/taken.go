package netns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// How an address is asked for, and how long whoever has it may take to say so. RFC 5227, section 2.1.1, has three
// probes over some seconds; hosts of one segment that are up answer within milliseconds.
const (
	probes     = 3
	probeEvery = 250 * time.Millisecond
)

// ARP for IPv4 over Ethernet (RFC 826): a packet's length, where the sender's addresses and the target's are, and the
// operation of a question.
const (
	arpLength    = 28
	arpSenderMAC = 8
	arpSenderIP  = 14
	arpTargetIP  = 24
	arpRequest   = 1
)

// Taken tells who on the segment of a device has an IPv4 address, by the MAC; "" if nobody answers. It is called on a thread
// of the device's stack.
func Taken(ctx context.Context, device string, address netip.Addr) (mac string, err error) {
	failed := func(err error) (string, error) {
		return "", fmt.Errorf("asking on %s who has %s: %w", device, address, err)
	}
	nic, err := net.InterfaceByName(device)
	if err != nil {
		return failed(err)
	}
	if !address.Is4() || len(nic.HardwareAddr) != 6 {
		return failed(errors.New("it is no IPv4 address, or the interface no Ethernet"))
	}
	protocol := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ARP)) // in network order, packet(7)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(protocol))
	if err != nil {
		return failed(err)
	}
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: nic.Index, Halen: 6, Addr: [8]byte{255, 255, 255, 255, 255, 255}}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: nic.Index}); err != nil {
		return failed(err)
	}
	for range probes {
		if err := ctx.Err(); err != nil {
			return failed(err)
		}
		if err := unix.Sendto(fd, question(nic.HardwareAddr, address), 0, to); err != nil {
			return failed(err)
		}
		if mac, err = answered(fd, address, time.Now().Add(probeEvery)); err != nil || mac != "" {
			return mac, err
		}
	}
	return "", nil
}

// question is an ARP probe: it tells no address of its own, so that nobody's table changes.
func question(mac net.HardwareAddr, address netip.Addr) []byte {
	q := make([]byte, arpLength)
	binary.BigEndian.PutUint16(q[0:], 1) // Ethernet
	binary.BigEndian.PutUint16(q[2:], unix.ETH_P_IP)
	q[4], q[5] = 6, 4 // lengths of the addresses
	binary.BigEndian.PutUint16(q[6:], arpRequest)
	copy(q[arpSenderMAC:], mac)
	copy(q[arpTargetIP:], address.AsSlice())
	return q
}

// answered reads until somebody says that the address is theirs, or the time is up.
func answered(fd int, address netip.Addr, until time.Time) (string, error) {
	said := make([]byte, 128)
	for {
		left := time.Until(until)
		if left <= 0 {
			return "", nil
		}
		timeout := unix.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
			return "", err
		}
		n, _, err := unix.Recvfrom(fd, said, 0)
		if err == unix.EAGAIN || err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if theirs, ok := sender(said[:n]); ok && theirs == address {
			return net.HardwareAddr(said[arpSenderMAC:arpSenderIP]).String(), nil
		}
	}
}

// sender is who sent an ARP packet, if that is what it is.
func sender(packet []byte) (netip.Addr, bool) {
	if len(packet) < arpLength || packet[4] != 6 || packet[5] != 4 {
		return netip.Addr{}, false
	}
	return netip.AddrFromSlice(packet[arpSenderIP : arpSenderIP+4])
}
