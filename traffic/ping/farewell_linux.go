package ping

import (
	"time"

	"golang.org/x/sys/unix"
)

// part tells the receiver, over UDP, that the flows have ended. It is told again
// when no answer comes, a few times: the receiver also ends by itself.
func (e *hotEngine) part(hellos []hello) {
	conns := make([]farewellFlow, len(hellos))
	for i, h := range hellos {
		h.Purpose = farewell
		conns[i] = farewellFlow{fd: e.fds[i], hello: h}
	}
	for range farewells {
		missing := false
		for i := range conns {
			conns[i].say()
		}
		until := time.Now().Add(farewellRound)
		for i := range conns {
			conns[i].hear(until)
			missing = missing || !conns[i].gone
		}
		if !missing {
			return
		}
	}
}

type farewellFlow struct {
	fd    int
	hello hello
	gone  bool
}

func (f *farewellFlow) say() {
	if f.gone {
		return
	}
	b := f.hello.encode()
	if _, err := unix.SendmsgN(f.fd, b[:], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err == unix.ECONNREFUSED {
		f.gone = true // nobody is there any more
	}
}

// hear reads answers, old ones too, until one says goodbye.
func (f *farewellFlow) hear(until time.Time) {
	bound := unix.NsecToTimeval(farewellRound.Nanoseconds())
	_ = unix.SetsockoptTimeval(f.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &bound) // else patience bounds it
	b := make([]byte, bufferSize)
	for !f.gone && time.Now().Before(until) {
		n, err := unix.Read(f.fd, b)
		if err == unix.EAGAIN {
			return
		}
		if err != nil && err != unix.EINTR {
			f.gone = true
			return
		}
		a, err := decodeAnswer(b[:max(0, n)])
		f.gone = err == nil && a.Status == goodbye
	}
}
