//go:build linux

package vm

import (
	"fmt"
	"io"
)

// archive writes an initramfs: a cpio archive in the form "newc", as the kernel takes it
// (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	to    io.Writer
	bytes int64
	files uint32
	err   error
}

// What an entry is: the mode's bits for it (inode(7)).
const (
	isFolder = 0o040000
	isDevice = 0o020000
	isFile   = 0o100000
)

// device is a character device's number.
type device struct{ major, minor uint32 }

func (a *archive) folder(name string) { a.entry(name, isFolder|0o755, device{}, 0, nil) }

func (a *archive) node(name string, of device) { a.entry(name, isDevice|0o600, of, 0, nil) }

// file copies a file of so many bytes.
func (a *archive) file(name string, size int64, content io.Reader) {
	a.entry(name, isFile|0o755, device{}, size, content)
}

// close ends the archive, and tells whether all of it could be written.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, device{}, 0, nil)
	return a.err
}

const largestEntry = 1<<32 - 1 // its size has 8 hexadecimal digits

func (a *archive) entry(name string, mode uint32, of device, size int64, content io.Reader) {
	if size > largestEntry && a.err == nil {
		a.err = fmt.Errorf("%s has %d bytes, and an initramfs takes files of %d", name, size, int64(largestEntry))
	}
	a.files++
	links := uint32(1)
	header := "070701"
	for _, field := range []uint32{a.files, mode, 0, 0, links, 0, uint32(size), 0, 0, of.major, of.minor, uint32(len(name) + 1), 0} {
		header += fmt.Sprintf("%08x", field)
	}
	a.write([]byte(header + name + "\x00"))
	a.align()
	if a.err != nil || content == nil {
		return
	}
	n, err := io.Copy(a.to, io.LimitReader(content, size))
	if a.bytes += n; err == nil && n != size {
		err = fmt.Errorf("%s ended after %d of %d bytes", name, n, size)
	}
	a.err = err
	a.align()
}

func (a *archive) write(b []byte) {
	if a.err != nil {
		return
	}
	n, err := a.to.Write(b)
	a.bytes, a.err = a.bytes+int64(n), err
}

// align fills up to a multiple of 4 bytes, where every part begins.
func (a *archive) align() { a.write(make([]byte, (4-a.bytes%4)%4)) }
