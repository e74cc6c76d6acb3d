// Package ethtool asks and tells network drivers by the ioctls of
// linux/ethtool.h what netlink does not carry for all of them.
package ethtool

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket speaks for the network stack of the thread that opened it.
type Socket struct{ fd int }

// Open opens a socket in the network stack of the calling thread.
func Open() (*Socket, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening a socket for ethtool: %w", err)
	}
	return &Socket{fd}, nil
}

func (s *Socket) Close() error { return unix.Close(s.fd) }

// Driver names the driver of a device.
func (s *Socket) Driver(device string) (string, error) {
	info, err := unix.IoctlGetEthtoolDrvinfo(s.fd, device)
	if err != nil {
		return "", err
	}
	return unix.ByteSliceToString(info.Driver[:]), nil
}

// request is struct ifreq as SIOCETHTOOL reads it. What it points to stays a pointer, so that it is followed
// when the runtime moves a stack.
type request struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte // the union is longer than a pointer
}

// ask has the kernel read and fill a structure of linux/ethtool.h.
func (s *Socket) ask(device string, structure []byte) error {
	if device == "" || len(device) >= unix.IFNAMSIZ {
		return fmt.Errorf("%q cannot be an interface: a name has 1 to %d bytes", device, unix.IFNAMSIZ-1)
	}
	r := request{data: unsafe.Pointer(unsafe.SliceData(structure))}
	copy(r.name[:], device)
	_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(s.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r)))
	if failed != 0 {
		return failed
	}
	return nil
}

// command begins a structure of so many bytes: a command, and the words after it.
func command(bytes int, words ...uint32) []byte {
	structure := make([]byte, bytes)
	for i, word := range words {
		put(structure, i, word)
	}
	return structure
}

func put(structure []byte, word int, value uint32) {
	binary.NativeEndian.PutUint32(structure[4*word:], value)
}

func get(structure []byte, word int) uint32 {
	return binary.NativeEndian.Uint32(structure[4*word:])
}
