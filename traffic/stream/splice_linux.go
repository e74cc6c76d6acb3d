package stream

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sending by splice: a pipe holds the pages of some messages for good, and another one gets references to them (tee),
// which TCP takes over (splice). Neither copies. sendfile does the same with a pipe of the kernel's own, and looks each
// page up in its file, which on an AMD EPYC was a tenth of the sending CPU's time; and where the file has one large
// page, all packets count the references of that one, at both ends.

// pipe is one of the kernel's.
type pipe struct{ out, in int }

func newPipe(bytes int) (pipe, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return pipe{}, fmt.Errorf("making a pipe to splice from: %w", err)
	}
	p := pipe{ends[0], ends[1]}
	if _, err := unix.FcntlInt(uintptr(p.in), unix.F_SETPIPE_SZ, bytes); err != nil {
		p.close()
		return pipe{}, fmt.Errorf("making a pipe of %d bytes to splice from (raise fs.pipe-max-size or fs.pipe-user-pages-soft, or ask for copy %s): %w", bytes, CopySendfile, err)
	}
	return p, nil
}

func (p pipe) close() {
	unix.Close(p.out)
	unix.Close(p.in)
}

// stock is the pipe with the messages, which nobody reads: all threads refer to what is in it. It is as full as it may
// be, since the more pages there are the less often both CPUs want the count of references of one: 1 MiB brought 1.15
// times what sendfile did, 128 KiB 1.05.
type stock struct {
	pipe
	bytes int // of whole messages
}

// newStock fills the pipe. A page there is one place, whatever it holds, so that a message begins a page.
func newStock(message int, payload []byte) (s *stock, err error) {
	page := os.Getpagesize()
	each := (message + page - 1) / page * page
	many := max(1, maxSpliced/each)
	memory, err := unix.Mmap(-1, 0, many*each, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes to send from: %w", many*each, err)
	}
	defer unix.Munmap(memory) // the pipe has the pages
	// Pages of one large page would have one count of references.
	unix.Madvise(memory, unix.MADV_NOHUGEPAGE)
	s = &stock{bytes: many * message}
	if s.pipe, err = newPipe(maxSpliced); err != nil {
		return nil, err
	}
	for at := 0; at < len(memory); at += each {
		one := memory[at : at+message]
		fill(one, payload)
		if err := s.put(one); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// put lets the pipe refer to the pages of b, which are not written any more.
func (s *stock) put(b []byte) error {
	vector := []unix.Iovec{{Base: &b[0]}}
	vector[0].SetLen(len(b))
	n, err := unix.Vmsplice(s.in, vector, unix.SPLICE_F_NONBLOCK)
	if err == nil && n < len(b) {
		err = unix.EAGAIN
	}
	if err != nil {
		return fmt.Errorf("putting a message of %d bytes into a pipe: %w", len(b), err)
	}
	return nil
}

// splicer sends from a stock; each thread has one.
type splicer struct {
	pipe
	stock *stock
	left  uintptr // bytes that the pipe still holds
}

func newSplicer(s *stock) (*splicer, error) {
	p, err := newPipe(maxSpliced)
	if err != nil {
		return nil, err
	}
	return &splicer{pipe: p, stock: s}, nil
}

// send is a call of splice of so many bytes, at most those of a message.
//
//go:nosplit
func (s *splicer) send(fd, size uintptr) (n uintptr, e syscall.Errno) {
	if s.left == 0 {
		if n, _, e = syscall.RawSyscall6(unix.SYS_TEE, uintptr(s.stock.out), uintptr(s.in), uintptr(s.stock.bytes), unix.SPLICE_F_NONBLOCK, 0, 0); e != 0 {
			return 0, e
		}
		s.left = n
	}
	n, _, e = syscall.RawSyscall6(unix.SYS_SPLICE, uintptr(s.out), 0, fd, 0, min(size, s.left), 0)
	if e != 0 {
		return 0, e
	}
	s.left -= n
	return n, 0
}
