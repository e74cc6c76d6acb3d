package poll

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// The layout of the shared memory: image.h says the same in C, and a test compares.
const (
	magic      = 0x67616d692d6c6c6f
	version    = 4
	headerSize = 48 + (int(config.TableCount)+sharedTables)*24
	// MaxCores is how many CPUs can forward.
	MaxCores = 64

	totalsAt    = 128 // within an account
	vifsAt      = totalsAt + core.SizeTotals
	lossesAt    = vifsAt + core.MaxVifs*core.SizeVifCount
	accountSize = lossesAt + core.MaxVifs*core.SizeVifDrops

	accountStride = (accountSize + accountPage - 1) / accountPage * accountPage
	accountPage   = 65536

	sharedTables = 4 // of flows the head, the pages and the counts; and what traces take

	roundsAt, busyAt, idleAt, hertzAt, burstsAt, foundAt, timedAt, missedAt, stagesAt, hostSentAt, hostLostAt, handedAt = 0, 8, 16, 24, 32, 40, 48, 56, 64, 96, 104, 112
)

// Stages are what a core's cycles go to, in the order of an account.
var Stages = [...]string{"receive", "decide", "move", "send"}

// header is struct poll_header.
type header struct {
	Magic           uint64
	Layout, Version uint32
	Bytes           uint64
	Accounts        uint64
	Account         uint64
	AccountCount    uint32
	TableCount      uint32
	Tables          [config.TableCount]tablePlace
	Shared          [sharedTables]tablePlace
}

// tablePlace is struct poll_table.
type tablePlace struct{ Offset, Bytes, Record uint64 }

// image is the shared memory, which only those see that it is handed to.
type image struct {
	file     *os.File
	memory   []byte
	tables   config.Memory
	shared   [sharedTables][]byte
	accounts []account // one a core
}

// account is the memory of what one core did.
type account []byte

// size is how much the tables have room for.
type size struct {
	blocks, hosts uint32
	flows         uint32
}

func makeImage(s size, cores int) (*image, error) {
	h := header{
		Magic: magic, Layout: core.Layout, Version: version, Account: accountSize, AccountCount: uint32(cores), TableCount: uint32(config.TableCount),
	}
	at := pages(headerSize)
	place := func(bytes, record int) tablePlace {
		t := tablePlace{uint64(at), uint64(bytes), uint64(record)}
		at += pages(bytes)
		return t
	}
	for table, bytes := range config.TableBytes(s.blocks, s.hosts) {
		h.Tables[table] = place(bytes, config.RecordSize[table])
	}
	h.Shared = [sharedTables]tablePlace{
		place(core.SizeFlowHead, core.SizeFlowHead), place(int(config.FlowPages(s.flows))*core.SizeFlowPage, core.SizeFlowPage),
		place(8*core.VRFSlots, 8), place(tracingSize, tracingSize),
	}
	h.Accounts = uint64(at)
	at += cores * accountStride
	h.Bytes = uint64(at)
	fd, err := unix.MemfdCreate("vrouter-tables", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("making memory to share with the poll mode: %w", err)
	}
	m := &image{file: os.NewFile(uintptr(fd), "vrouter-tables")}
	if err := m.open(h); err != nil {
		m.close()
		return nil, fmt.Errorf("making %d bytes of memory to share with the poll mode: %w", at, err)
	}
	return m, nil
}

// open sizes and maps the memory. Nobody can cut it off under a process that reads it: the seals.
func (m *image) open(h header) (err error) {
	if err := m.file.Truncate(int64(h.Bytes)); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(m.file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return err
	}
	if m.memory, err = unix.Mmap(int(m.file.Fd()), 0, int(h.Bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	if _, err := binary.Encode(m.memory, binary.LittleEndian, h); err != nil {
		return err
	}
	for table, t := range h.Tables {
		m.tables[table] = m.memory[t.Offset : t.Offset+t.Bytes]
	}
	for i, t := range h.Shared {
		m.shared[i] = m.memory[t.Offset : t.Offset+t.Bytes]
	}
	for core := range uint64(h.AccountCount) {
		at := h.Accounts + core*accountStride
		m.accounts = append(m.accounts, account(m.memory[at:at+accountSize]))
	}
	return nil
}

func pages(bytes int) int {
	page := max(os.Getpagesize(), 64)
	return (bytes + page - 1) / page * page
}

func (m *image) close() {
	if m.memory != nil {
		_ = unix.Munmap(m.memory) // it was mapped whole
	}
	m.memory, m.accounts, m.tables, m.shared = nil, nil, config.Memory{}, [sharedTables][]byte{}
	m.file.Close()
}

// word is one that the process writes all the time.
func (a account) word(at int) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&a[at])))
}

// Image reads the tables.
func (p *Plane) Image() config.Image { return config.Read(p.image.tables) }

// Write changes the tables' memory, which no packet must refer to.
func (p *Plane) Write(writes []config.Write) error { return p.image.tables.Write(writes) }

// Switch changes words that packets read: [config.Memory.Switch].
func (p *Plane) Switch(writes []config.Write) error { return p.image.tables.Switch(writes) }

// Hosts is the hosts' table.
func (p *Plane) Hosts() config.Hosts { return config.Hosts(p.image.tables[config.TableHosts]) }
