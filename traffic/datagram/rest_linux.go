package datagram

import (
	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// rest lets what was read stay in its socket's queue for a while.
//
// Memory that a message lay in is used again at once: its packets are freed on the CPU that made them
// (skb_attempt_defer_free in net/core/skbuff.c), where the page allocator hands out first what came back last. A sender
// that copies into it writes lines which the receiver's CPU has just read and still has in its own cache, and each has
// to be taken from there: 8 to 10 GB/s on an AMD EPYC, where memory that rests until 1.5 to 12 MB more have passed is
// written at 30 to 39. So a message is read where it lies (MSG_PEEK, SO_PEEK_OFF), and leaves the queue, unread, when
// restBytes have come after it.
type rest struct {
	on       bool
	messages int               // read, and still in the queue
	bytes    int               // in them
	out      []traffic.Message // of no memory: they take messages out of the queue
	room     int               // bytes: the buffer as the kernel counts it
	grown    bool              // for what rests
}

const (
	// restBytes are more than a core's own cache holds, and less than what cores share.
	restBytes = 5 << 19
	// restLeast is the mean length of messages from which on their copying is what a sender spends its time with. It also
	// bounds how many rest, since each look passes all of them.
	restLeast = 32 << 10
	// restRoom is how much of what the kernel calls a socket's buffer, which is twice what was asked for, there is to be
	// for each byte that rests: the other half is for what comes.
	restRoom = 2
)

// pays tells whether copying long messages is most of the sender's work, and this thread keeps up with it. One that is
// behind finds its calls full, and must not have more to do.
func (d *doze) pays() bool { return d.bytes >= restLeast*d.came && 2*d.full < d.calls }

// decide begins or ends the rest. A buffer that nobody has asked for grows by what rests.
func (q *rest) decide(s *socket, wanted, mayGrow bool) {
	switch {
	case wanted && !q.on:
		q.begin(s, mayGrow)
	case !wanted && q.on:
		q.end(s)
	}
}

func (q *rest) begin(s *socket, mayGrow bool) {
	if q.grown = mayGrow; mayGrow {
		_ = traffic.SetBuffers(s.fd, 0, floodBuffer+restBytes) // what it brought is asked for below
	}
	room, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil || room < restRoom*restBytes {
		q.shrink(s)
		return
	}
	q.room = room
	if q.out == nil {
		q.out = make([]traffic.Message, intakeMessages)
	}
	q.on = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_PEEK_OFF, 0) == nil
}

// end takes out what rests, so that the next call finds what has not been read.
func (q *rest) end(s *socket) {
	q.takeOut(s, q.messages)
	q.on = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_PEEK_OFF, -1) != nil
	q.shrink(s)
}

// shrink gives back what the buffer has grown by: a receiver that falls behind is to have the one that was chosen for it.
func (q *rest) shrink(s *socket) {
	if q.grown {
		_ = traffic.SetBuffers(s.fd, 0, floodBuffer)
		q.grown = false
	}
}

// flags are those of a reading call. By MSG_TRUNC the kernel's offset passes a whole message, also one that is longer
// than the memory for it.
func (q *rest) flags() uintptr {
	if !q.on {
		return 0
	}
	return unix.MSG_PEEK | unix.MSG_TRUNC
}

// hold lets n messages rest that have just been read, and takes those out that have rested.
func (q *rest) hold(s *socket, n, bytes int) {
	if !q.on {
		return
	}
	q.messages, q.bytes = q.messages+n, q.bytes+bytes
	if over := q.bytes - restBytes; over > 0 {
		q.takeOut(s, over*q.messages/q.bytes)
	}
	if over := q.taken(s) - q.room/restRoom; over > 0 {
		q.takeOut(s, min(q.messages, 1+over*q.messages/(q.room/restRoom)))
	}
}

// taken is how much of the buffer all messages in the queue take: by their packets' memory, which may be several times
// what they hold.
func (q *rest) taken(s *socket) int {
	info, known := s.memory()
	if known == 0 {
		return q.room // not known: nothing may rest
	}
	return int(info[unix.SK_MEMINFO_RMEM_ALLOC])
}

// takeOut takes the n oldest messages out of the queue.
func (q *rest) takeOut(s *socket, n int) {
	for n > 0 {
		some := q.out[:min(n, len(q.out))]
		got, e := recvmmsg(uintptr(s.fd), some, unix.MSG_TRUNC|unix.MSG_DONTWAIT, true)
		switch {
		case broughtBack(e):
			continue
		case e != 0: // the kernel has none: it took them out itself, as it does with what has a wrong checksum
			q.messages, q.bytes = 0, 0
			return
		}
		for _, m := range some[:got] {
			q.bytes -= int(m.Length)
		}
		q.messages -= got
		n -= got
	}
}
