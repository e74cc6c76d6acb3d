package ntttcp

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestSocketsThatMayBeAnothersAreSaid: nothing else shows that two senders of one host sent datagrams to one session.
func TestSocketsThatMayBeAnothersAreSaid(t *testing.T) {
	const one, two = "", "sockets sent to each of its ports"
	for name, c := range map[string]struct {
		tool    tool
		sockets []int // the thread of each
		last    time.Duration
		says    string
	}{
		"none":                         {eitherTool, nil, 0, one},
		"one to each port":             {eitherTool, []int{0, 1, 2}, 0, one},
		"two to each":                  {eitherTool, []int{0, 0, 1, 1}, 0, "2 " + two + ", of one sender or of several"},
		"two to each, a caller's":      {forLinux, []int{0, 0, 1, 1}, 0, one},
		"two to each, of Windows":      {forWindows, []int{0, 0, 1, 1}, 0, "is among them"},
		"more to one, beside a caller": {forLinux, []int{0, 0, 1}, 0, "1 to 2 sockets sent to its ports"},
		"one soon":                     {forLinux, []int{0, 1}, scattered, one},
		"one late":                     {forLinux, []int{0, 1}, scattered + 1, "1 sending socket began more than 1s after"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(Server{Count: 8}, traffic.ServerConfig{})
			s := &session{tool: c.tool, flood: h.newFlood()}
			began := time.Now()
			for i, thread := range c.sockets {
				from, at := socket{thread, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(1000+i))}, began
				if i == len(c.sockets)-1 {
					at = began.Add(c.last)
				}
				s.flood.hear(from, at)
				s.flood.hear(from, at.Add(time.Minute)) // is known by then
			}
			s.doubtSockets()
			if says := s.says(""); says == "" != (c.says == "") || !strings.Contains(says, c.says) {
				t.Errorf("%q, want %q in it", says, c.says)
			}
		})
	}
}

// TestTwoSendersOfOneHostByUDPAreSaid, of whom both are counted in one session.
func TestTwoSendersOfOneHostByUDPAreSaid(t *testing.T) {
	for senders, want := range map[int]bool{1: false, 2: true} {
		t.Run(strconv.Itoa(senders), func(t *testing.T) {
			s := host(t, traffic.ServerConfig{})
			var all []net.Conn
			for range senders {
				conn, err := net.Dial("udp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.base)))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				all = append(all, conn)
			}
			for range 3 {
				for _, conn := range all {
					if _, err := conn.Write(make([]byte, 100)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if end := s.ends(t, 1)[0]; strings.Contains(end.Says, "of several of this host") != want {
				t.Errorf("%q", end.Says)
			}
		})
	}
}
