package datagram

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

const (
	// maxSegments is UDP_MAX_SEGMENTS of include/linux/udp.h since Linux 6.10;
	// before it was oldSegments.
	maxSegments = 128
	oldSegments = 64
	// maxMessages bounds a call's messages, as atOnce does its datagrams.
	maxMessages = 64
)

// batch is the memory of a sending thread's calls. Datagrams lie one behind the
// other; a message is a run of them, which the kernel cuts (UDP_SEGMENT).
type batch struct {
	memory   []byte
	message  int                    // bytes of a datagram
	goesOn   bool                   // though the peer's port is closed
	gone     bool                   // ICMP said so, by the last call
	largest  int                    // datagrams of a call
	segments atomic.Int32           // datagrams of a message
	why      atomic.Pointer[string] // it is not more; nil: nothing
	headers  []traffic.Message
	vectors  []unix.Iovec
	control  [controlSpace]byte // says where to cut
}

func newBatch(c Config, flows []*outflow) *batch {
	b := &batch{message: c.Message, goesOn: c.goesOn()}
	segments := min(maxSegments, maxPayload/c.Message)
	b.segments.Store(int32(segments))
	if c.Segmentation == offloadOff {
		b.plain("segmentation is switched off")
	} else if segments < 2 {
		b.plain(fmt.Sprintf("two datagrams of %d bytes are longer than a packet may be", c.Message))
	}
	for _, f := range flows {
		if f.socket.noCut != nil {
			b.plain(fmt.Sprintf("the kernel has no UDP_SEGMENT (%v): it came with Linux 4.18", f.socket.noCut))
		}
	}
	b.largest = atOnce(c.Message)
	if segments = int(b.segments.Load()); segments == 1 {
		b.largest = min(b.largest, maxMessages)
	} else if b.largest > segments {
		b.largest -= b.largest % segments
	}
	b.memory = make([]byte, b.largest*c.Message)
	repeat(b.memory, copy(b.memory, template(c.Message, c.Payload)))
	b.headers, b.vectors = make([]traffic.Message, b.largest), make([]unix.Iovec, b.largest)
	b.sayWhereToCut()
	return b
}

// transmit sends n datagrams. What is not sent after a call that patience ended,
// or after a refusal, is left to the caller. That there is no way, or that the path
// is too narrow, counts if the kernel says so twice: ICMP's word of an earlier datagram
// it tells once (sock_error in include/net/sock.h), and the next call is for itself.
func (b *batch) transmit(f *outflow, n int) (sent, calls, refused int, err error) {
	told := false
	b.gone = false
	for sent < n {
		messages := b.layOut(f, sent, n)
		done, errno := sendmmsg(uintptr(f.socket.fd), b.headers[:messages])
		calls++
		for i := range done {
			sent += int(b.vectors[i].Len) / b.message
		}
		switch errno {
		case 0:
		case unix.EAGAIN:
			return sent, calls, refused, nil
		case unix.ENOBUFS, unix.ENOMEM:
			return sent, calls, refused + 1, nil
		default:
			if b.retreat(errno) {
				continue
			}
			b.gone = b.gone || errno == unix.ECONNREFUSED
			if told || errno == unix.ECONNREFUSED && !b.goesOn || !broughtBack(errno) && !traffic.NoWay(errno) {
				return sent, calls, refused, explain(errno)
			}
			told = true
		}
	}
	return sent, calls, refused, nil
}

// cutControl is the length of a control message of one u16 (CMSG_SPACE(2)).
const cutControl = unix.SizeofCmsghdr + 8

// sayWhereToCut writes the control message that goes with each message of
// several datagrams. An option of the socket would do the same, but hold for all
// threads that send by it.
func (b *batch) sayWhereToCut() {
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b.control))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.SizeofCmsghdr + 2)
	binary.NativeEndian.PutUint16(b.control[unix.SizeofCmsghdr:], uint16(b.message))
}

// layOut makes messages of the datagrams from the first to the n-th.
func (b *batch) layOut(f *outflow, first, n int) (messages int) {
	segments := int(b.segments.Load())
	for ; first < n; messages++ {
		run := min(segments, n-first)
		v, h := &b.vectors[messages], &b.headers[messages].Header
		v.Base = &b.memory[first*b.message]
		v.SetLen(run * b.message)
		h.Iov = v
		h.SetIovlen(1)
		h.Name, h.Namelen = nil, f.to.size
		if f.to.size > 0 {
			h.Name = &f.to.bytes[0]
		}
		h.Control = nil
		h.SetControllen(0)
		if run > 1 {
			h.Control = &b.control[0]
			h.SetControllen(cutControl)
		}
		first += run
	}
	return messages
}

// retreat takes shorter messages after the path refused one: EINVAL for more
// segments than the kernel takes or larger than the path's MTU, which later
// kernels call EMSGSIZE, EIO for a device that computes no checksums
// (udp_send_skb in net/ipv4/udp.c). A refused message has sent nothing.
func (b *batch) retreat(errno syscall.Errno) bool {
	segments := b.segments.Load()
	if segments == 1 || errno != unix.EINVAL && errno != unix.EMSGSIZE && errno != unix.EIO {
		return false
	}
	b.plain(fmt.Sprintf("the path refused %d segments of %d bytes: %v", segments, b.message, errno))
	if errno == unix.EINVAL && segments > oldSegments {
		b.segments.Store(oldSegments)
	}
	return true
}

// plain gives segmentation up.
func (b *batch) plain(why string) {
	b.segments.Store(1)
	b.why.Store(&why)
}

// how says how datagrams leave, and why not in a better way.
func (b *batch) how() (method, why string) {
	if p := b.why.Load(); p != nil {
		why = *p
	}
	if b.segments.Load() > 1 {
		return methodSegment, why
	}
	return methodSendmmsg, why
}

// explain says what a send's error means.
func explain(errno syscall.Errno) error {
	if traffic.NoWay(errno) {
		return noWay{errno}
	}
	switch errno {
	case unix.ECONNREFUSED:
		return errGone
	case unix.EMSGSIZE:
		return fmt.Errorf("sending: %w: take a smaller message", errno)
	case unix.EPERM:
		return fmt.Errorf("sending: %w: a packet filter of this host forbids it", errno)
	}
	return fmt.Errorf("sending: %w", errno)
}

// sendmmsg returns how many messages left, and an error only with none. Only a call that waits for room is known to the Go
// runtime (traffic.SwiftCall): what is sent until there is none ends soon.
func sendmmsg(fd uintptr, headers []traffic.Message) (int, syscall.Errno) {
	first := unsafe.Pointer(unsafe.SliceData(headers))
	n, e := call(true, unix.SYS_SENDMMSG, fd, first, len(headers), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	if e == unix.EAGAIN {
		n, e = call(false, unix.SYS_SENDMMSG, fd, first, len(headers), unix.MSG_NOSIGNAL)
	}
	return n, e
}
