package measure

import (
	"fmt"
	"io"
	"os"
)

// maxProc bounds a file of /proc, in bytes. Its size is set by CPUs, devices and
// timers, never by a peer; a file that is larger is refused.
const maxProc = 8 << 20

// procFile is a file of /proc that is opened once and read many times. A file of
// /proc/net stays bound to the network stack in which it was opened, whichever
// thread reads it (single_open_net in fs/proc/proc_net.c).
type procFile struct {
	path   string
	file   *os.File
	err    error // why it could not be opened
	buffer []byte
}

// openProc remembers an error for the first read.
func openProc(path string) *procFile {
	f, err := os.Open(path)
	return &procFile{path: path, file: f, err: err, buffer: make([]byte, 16<<10)}
}

// read returns the whole file; the bytes are valid until the next read. Reading
// at offset 0 makes a seq_file begin anew (seq_read_iter in fs/seq_file.c).
func (p *procFile) read() ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	for n := 0; ; {
		if n == len(p.buffer) {
			if n >= maxProc {
				return nil, fmt.Errorf("%s is larger than %d bytes", p.path, maxProc)
			}
			p.buffer = append(p.buffer, make([]byte, n)...)
		}
		k, err := p.file.ReadAt(p.buffer[n:], int64(n))
		n += k
		if err == io.EOF {
			return p.buffer[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *procFile) close() {
	if p != nil && p.file != nil {
		p.file.Close()
	}
}
