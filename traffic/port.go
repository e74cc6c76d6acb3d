package traffic

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"windtunnel/result"
)

// Port is where an endpoint meets a data plane, if it is not by IP: at a port of poll mode, that a
// tester, a process of DPDK, holds for it; or at an interface from which no packet reaches the other
// end as the stack would send it.
type Port struct {
	Name    string `json:"name"`             // as the tester knows it
	Tester  string `json:"tester"`           // the Unix socket at which the tester is asked; in its folder, both ends meet
	Device  string `json:"device,omitempty"` // the interface, where there is no tester
	Socket  string `json:"socket,omitempty"` // the data plane's vhost-user socket, where there is no tester: a program of others is to be there
	CPUs    []int  `json:"cpus,omitempty"`   // the endpoint's hot threads belong there; empty: anywhere
	MAC     string `json:"mac"`              // the endpoint's
	NextHop string `json:"next_hop"`         // the MAC that its frames are addressed to
	Address string `json:"address"`          // the endpoint's IP
	MTU     int    `json:"mtu"`              // bytes of an IP packet
	// Tunnel is what the endpoint's frames wear, nil for nothing: it is then no port of an
	// endpoint's own, but the far end of the data plane's fabric.
	Tunnel *result.Tunnel `json:"tunnel,omitempty"`
}

// Foreign is a kind of which a program of others may make the load, at a port of poll mode.
type Foreign interface {
	Kind
	// Generator is the program that a load asks for, and how to get it, "" for our own engine. An
	// error is that the program cannot be told such a load.
	Generator(load result.Options) (program, install string, err error)
	// Largest is the longest frame that a generator sends, in bytes with FCS, if it is shorter than
	// what a port takes; else 0.
	Largest(generator string) int
	// Begins is how long a generator takes from its start until frames of its can go: usually, on a
	// machine that is otherwise idle, and at most, before it is given up. Both come before each
	// trial, beside what an engine of ours takes; 0 for one that is as fast as that.
	Begins(generator string) (usual, most time.Duration)
}

// AtPorts is a kind whose workers can be at a Port. Others need an interface.
type AtPorts interface {
	Kind
	AtPorts()
}

// Meeting is where a sender at a port finds its receiver, as that tells it: as no connection could go by the ports, both ends
// meet at a Unix socket.
type Meeting struct {
	At     netip.AddrPort // the receiver's IP, and the first of the session's UDP ports
	Socket string         // of the control connection, on the sender's machine
	// Carried says that the receiver is on another machine, to which the connection is carried: the ends' clocks are two.
	Carried bool
}

// carried stands before the socket of a connection that is.
const carried = "carried:"

// String is IP:port@/path, or IP:port@carried:/path.
func (m Meeting) String() string {
	if m.Carried {
		return m.At.String() + "@" + carried + m.Socket
	}
	return m.At.String() + "@" + m.Socket
}

// ParseMeeting reads what String writes.
func ParseMeeting(text string) (Meeting, error) {
	address, socket, there := strings.Cut(text, "@")
	at, err := netip.ParseAddrPort(address)
	m := Meeting{At: at}
	m.Socket, m.Carried = strings.CutPrefix(socket, carried)
	if err != nil || !there || m.Socket == "" {
		return Meeting{}, fmt.Errorf("%q is not a receiver at a port of poll mode, and this sender is: both ends have to be", text)
	}
	return m, nil
}
