package ntttcp

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// socket is one that sends datagrams to a thread's port.
type socket struct {
	thread int
	peer   netip.AddrPort
}

// sockets are those of a session by UDP, as far as there is room: how many they are, and when they began, is all that may show a second
// sender of the host.
type sockets struct {
	heard map[socket]bool
	first time.Time
	late  int // began when the first one had sent for long
}

// scattered is how far apart the sockets of one sender may begin, whose threads may share few CPUs.
const scattered = time.Second

// hear notes that a socket has sent something.
func (f *flood) hear(s socket, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := &f.sockets
	if k.heard[s] || len(k.heard) >= maxSenders {
		return
	}
	if k.heard[s] = true; k.first.IsZero() {
		k.first = at
	}
	if at.Sub(k.first) > scattered {
		k.late++
	}
}

// socketsAPort is how many sockets sent to each port that was sent to, from the least to the most, and how many began late.
func (f *flood) socketsAPort() (least, most, late int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	perThread := map[int]int{}
	for s := range f.sockets.heard {
		perThread[s.thread]++
	}
	if len(perThread) == 0 {
		return 0, 0, 0
	}
	numbers := slices.Sorted(maps.Values(perThread))
	return numbers[0], numbers[len(numbers)-1], f.sockets.late
}

// doubtSockets looks at the sockets that datagrams came from: of a sender of ntttcp-for-linux they are as many (-n and -l) for each of its
// ports, of NTttcp for Windows one, and they begin together. Where a caller's are all of that, they are its own, as its turn was.
func (s *session) doubtSockets() {
	if s.flood == nil {
		return
	}
	least, most, late := s.flood.socketsAPort()
	switch {
	case late > 0:
		s.doubt("%s began more than %s after the first one, and may be another sender's of this host", plural(late, "sending socket"), scattered)
	case least != most:
		s.doubt("%d to %d sockets sent to its ports, and a sender has as many for each: another sender of this host may be among them", least, most)
	case most > 1 && s.tool == forWindows:
		s.doubt("%d sockets sent to each of its ports, and a sender of %s has one: another sender of this host is among them", most, forWindows)
	case most > 1 && s.tool != forLinux:
		s.doubt("%d sockets sent to each of its ports, of one sender or of several of this host: datagrams do not tell", most)
	}
}
