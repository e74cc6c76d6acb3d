package iperf3

import "net"

// dataStream is one data stream of a test at this end.
type dataStream struct {
	id     int
	sender bool // this end sends
	conn   net.Conn
	facts  socketFacts
	shown  Connection
}

// streamID is 1, 3, 4, 5, ... in the order in which streams are made; iperf3
// never uses 2.
func streamID(index int) int {
	if index == 0 {
		return 1
	}
	return index + 2
}

func newStream(index int, conn net.Conn, sender bool) *dataStream {
	s := &dataStream{id: streamID(index), sender: sender, conn: conn, facts: factsOf(conn)}
	s.shown = Connection{ID: s.id, Socket: s.facts.fd, Sender: sender, Local: addressOf(conn.LocalAddr()), Remote: addressOf(conn.RemoteAddr())}
	if s.shown.Socket <= 0 {
		s.shown.Socket = s.id
	}
	return s
}

// streams is how many connections a test has.
func (t Test) streams() int {
	if t.Bidirectional {
		return 2 * t.Parallel
	}
	return t.Parallel
}

// sends says whether this end sends on the index-th stream: in a bidirectional
// test the client makes those first on which it sends itself.
func (t Test) sends(index int, server bool) bool {
	clientSends := !t.Reverse
	if t.Bidirectional {
		clientSends = index < t.Parallel
	}
	return clientSends != server
}

// receives says whether this end receives on any stream.
func (t Test) receives(server bool) bool { return t.Bidirectional || t.Reverse != server }

func closeStreams(streams []*dataStream) {
	for _, s := range streams {
		if s != nil {
			s.conn.Close()
		}
	}
}
