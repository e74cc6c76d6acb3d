// Package owner tells whose a network interface is: a vRouter of either mode says so in a record that is
// bound to its programs there, and looks for those of others before it takes an interface.
package owner

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// MapRecord says whose a program is, and mapAlive that the process which said so lives. The first is
// bound to the programs, so that it is found from any interface that has one; the second only the
// process holds, so that the kernel removes it however the process ends. Both go by the kernel's
// numbers, which mean the same in every namespace of processes and of mounts.
const (
	MapRecord = "vr_owner"
	mapAlive  = "vr_alive"
)

// MapNodes is the name of a table that all programs of a vRouter use, and no other's: by its number they
// are told apart. In kernel mode it is the node's.
const MapNodes = "vr_nodes"

// Record is the one record of MapRecord.
type Record struct {
	Netns  uint64 // the network namespace's cookie, which no other gets until the machine starts anew
	Nonce  uint64 // that of mapAlive, whose number another map may get one day
	Alive  uint32 // the number of mapAlive
	PID    uint32 // in its own namespace: for messages
	Pinned uint32
	Length uint32 // of the name
	Text   [64]byte
}

// Name is the vRouter's.
func (r Record) Name() string { return string(r.Text[:min(int(r.Length), len(r.Text))]) }

// Lives tells whether the process that wrote the record does. What cannot be found out counts as yes.
func (r Record) Lives() bool {
	m, err := ebpf.NewMapFromID(ebpf.MapID(r.Alive))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer m.Close()
	info, err := m.Info()
	if err != nil {
		return true
	}
	var nonce uint64
	return info.Name == mapAlive && m.Lookup(uint32(0), &nonce) == nil && nonce == r.Nonce
}

// A Mark is what a running vRouter says of itself.
type Mark struct {
	record *ebpf.Map // says whose the programs are
	alive  *ebpf.Map // is there while this process is
}

// oneRecord is a map of one record.
func oneRecord(name string, size int) *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: name, Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1}
}

// NewMark says that this process is a vRouter of such a name. With a folder, the record is pinned there.
func NewMark(name, folder string) (m Mark, err error) {
	netns, err := NetnsCookie()
	if err != nil {
		return m, err
	}
	spec, options := oneRecord(MapRecord, binary.Size(Record{})), ebpf.MapOptions{}
	if folder != "" {
		spec.Pinning, options.PinPath = ebpf.PinByName, folder
	}
	if m.record, err = ebpf.NewMapWithOptions(spec, options); err == nil {
		m.alive, err = ebpf.NewMap(oneRecord(mapAlive, 8))
	}
	if err != nil {
		m.Close()
		return Mark{}, fmt.Errorf("making the owner's record: %w", err)
	}
	r := Record{Netns: netns, PID: uint32(os.Getpid()), Length: uint32(len(name))}
	copy(r.Text[:], name)
	if folder != "" {
		r.Pinned = 1
	}
	var nonce [8]byte
	rand.Read(nonce[:])
	r.Nonce = binary.NativeEndian.Uint64(nonce[:])
	alive, err := MapID(m.alive)
	r.Alive = uint32(alive)
	if err = errors.Join(err, m.alive.Put(uint32(0), r.Nonce), m.record.Put(uint32(0), r)); err != nil {
		m.Close()
		return Mark{}, fmt.Errorf("writing the owner's record: %w", err)
	}
	return m, nil
}

// Bind binds the record to a program.
func (m Mark) Bind(program *ebpf.Program) error {
	if err := program.BindMap(m.record); err != nil {
		return fmt.Errorf("binding the owner's record: %w", err)
	}
	return nil
}

// Close lets go of it. The kernel keeps the record as long as a program has it.
func (m Mark) Close() {
	m.record.Close()
	m.alive.Close()
}

// NetnsCookie identifies the network namespace of the calling thread (Linux 5.14).
func NetnsCookie() (uint64, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("opening a socket: %w", err)
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return 0, fmt.Errorf("asking for the network namespace's cookie: %w (it needs Linux 5.14)", err)
	}
	return cookie, nil
}

// MapID is the number of a map.
func MapID(m *ebpf.Map) (ebpf.MapID, error) {
	info, err := m.Info()
	if err != nil {
		return 0, fmt.Errorf("reading the number of the table %s: %w", m, err)
	}
	id, _ := info.ID()
	return id, nil
}

// ReadRecord reads the record of a map.
func ReadRecord(m *ebpf.Map) (r Record, err error) {
	if int(m.ValueSize()) != binary.Size(r) {
		return r, fmt.Errorf("the owner's record has %d bytes, not %d: another version wrote it", m.ValueSize(), binary.Size(r))
	}
	value, err := m.LookupBytes(uint32(0))
	if err == nil {
		err = binary.Read(bytes.NewReader(value), binary.NativeEndian, &r)
	}
	if err != nil {
		return r, fmt.Errorf("reading the owner's record: %w", err)
	}
	return r, nil
}
