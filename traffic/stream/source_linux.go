package stream

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// source is what senders send: memory that nobody writes any more, for sendfile a
// file in memory with the same bytes, and for splice a pipe with them instead.
type source struct {
	buffer hotBuffer
	memory []byte // mapped; nil: the buffer is Go's
	file   int    // -1: none
	stock  *stock // nil: none
}

// hugePage is the size of the pages that are asked for on x86-64 and, with pages
// of 4 KiB, on arm64. Fewer, larger pages make fewer fragments.
const hugePage = 2 << 20

func newSource(c Config) (*source, error) {
	s := &source{file: -1}
	switch c.Copy {
	case "":
		s.buffer = newHotBuffer(c.Message, c.Payload)
		return s, nil
	case CopySplice:
		var err error
		s.buffer.size = uintptr(c.Message)
		s.stock, err = newStock(c.Message, c.Payload)
		return s, err
	}
	size := (c.Message + hugePage - 1) / hugePage * hugePage
	flags := unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if c.Copy == CopySendfile {
		if err := s.makeFile(size); err != nil {
			return nil, err
		}
		flags = unix.MAP_SHARED
	}
	memory, err := unix.Mmap(s.file, 0, size, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		s.free()
		return nil, fmt.Errorf("mapping %d bytes to send from: %w", size, err)
	}
	s.memory = memory
	unix.Madvise(memory, unix.MADV_HUGEPAGE) // where there are none, pages are small
	fill(memory[:c.Message], c.Payload)
	unix.Madvise(memory, unix.MADV_COLLAPSE) // since Linux 6.1; shared memory gets large pages by this alone
	s.buffer = hotBuffer{unsafe.Pointer(unsafe.SliceData(memory)), uintptr(c.Message)}
	return s, nil
}

func (s *source) makeFile(size int) error {
	fd, err := unix.MemfdCreate("stream", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("making a file in memory to send from: %w", err)
	}
	s.file = fd
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		s.free()
		return os.NewSyscallError("ftruncate", err)
	}
	return nil
}

// free leaves pages that the kernel still sends to the kernel, which counts its
// references.
func (s *source) free() {
	if s.memory != nil {
		unix.Munmap(s.memory)
		s.memory = nil
	}
	if s.file >= 0 {
		unix.Close(s.file)
		s.file = -1
	}
	if s.stock != nil {
		s.stock.close()
		s.stock = nil
	}
}
