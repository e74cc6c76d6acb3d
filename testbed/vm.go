package testbed

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// VM is a virtual machine on a node: QEMU with a kernel of the distribution's, of which each network
// interface is a place of the graph.
type VM struct {
	Name        string `json:"name"`
	Node        string `json:"node"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"`
	NICs        []VNIC `json:"nics"`
	// Container is where the VM's worker is; nil: in the guest's own stack.
	Container *GuestContainer `json:"container,omitempty"`
}

// VNIC is a virtio-net interface of a VM. It is the first end of a link, whose other end is then a tap,
// or it is at a vhost-user socket, or a user-mode network is behind it.
type VNIC struct {
	Place string `json:"place"`
	// Socket is the data plane's, which listens there; {dir:NAME} is a daemon's folder.
	Socket string       `json:"socket,omitempty"`
	User   *UserNetwork `json:"user,omitempty"`
	// Inside is the interface as the guest has it; a link says it itself.
	Inside *Interface `json:"inside,omitempty"`
}

// UserNetwork is a network of a program's: what the guest sends to anybody is sent anew by sockets of its node.
type UserNetwork struct {
	By      string `json:"by,omitempty"` // UserBy*
	Subnet  string `json:"subnet"`
	Gateway string `json:"gateway"` // the program's address in it
	// Device is the node's interface whose name passt asks for, before it knows the addresses that it is told.
	Device  string `json:"device,omitempty"`
	Forward []int  `json:"forward,omitempty"` // ports, each of TCP and UDP, on every address of the node
}

// Who makes a user-mode network: QEMU's own stack (libslirp), or passt, a program beside QEMU that keeps no TCP of its own
// between the two sockets.
const (
	UserByQEMU  = ""
	UserByPasst = "passt"
)

// Program is its name for people.
func (u UserNetwork) Program() string {
	if u.By == UserByPasst {
		return "passt"
	}
	return "QEMU"
}

// Bounds of a VM: QEMU's q35 machine has 288 CPUs at most, and with less memory the guest's kernel and
// files do not fit.
const (
	MaxVMCPUs   = 288
	MinVMMemory = 160 << 20 // bytes
	maxVMNICs   = 8
)

// InVM returns the VM and its interface that a place is.
func (g Graph) InVM(place string) (VM, VNIC, bool) {
	for _, v := range g.VMs {
		for _, n := range v.NICs {
			if n.Place == place {
				return v, n, true
			}
		}
	}
	return VM{}, VNIC{}, false
}

// Attached returns a NIC's two sides: the interface as the guest has it, and the tap as its node does,
// whose device is "" if the NIC is at a socket.
func (g Graph) Attached(n VNIC) (inside, tap Interface) {
	if n.Inside != nil {
		return *n.Inside, Interface{}
	}
	for _, l := range g.Links {
		if l.Ends[0].Place == n.Place {
			return l.Ends[0], l.Ends[1]
		}
	}
	return Interface{}, Interface{}
}

// object stands on its links and on every daemon of its node, with which it may speak.
func (v VM) object(g Graph) object {
	o := object{kind: KindVM, name: v.Name, detail: v.Node + ": " + v.line()}
	o.fixed = v.Node + " " + o.detail
	if v.Container != nil {
		o.fixed += " " + v.Container.line()
	}
	for _, n := range v.NICs {
		inside, tap := g.Attached(n)
		o.fixed += fmt.Sprintf(" %s %s %+v %s", n.Place, n.Socket, inside, tap.Device)
		if n.User != nil {
			o.fixed += fmt.Sprintf(" %+v", *n.User)
		}
		for _, l := range g.Links {
			if l.Ends[0].Place == n.Place {
				o.needs = append(o.needs, linkKey(l))
			}
		}
	}
	for _, d := range g.Part(v.Node).Daemons {
		o.needs = append(o.needs, object{kind: KindDaemon, name: d.Name}.key())
	}
	return o
}

func (v VM) line() string {
	return fmt.Sprintf("%d CPUs, %d MiB of memory, %d virtio-net", v.CPUs, v.MemoryBytes>>20, len(v.NICs))
}

// lines say what a VM is, for configurations.
func (v VM) lines(g Graph) []string {
	all := []string{v.line()}
	for _, n := range v.NICs {
		inside, tap := g.Attached(n)
		at := "tap " + tap.Device
		if n.Socket != "" {
			at = "vhost-user " + n.Socket
		} else if n.User != nil {
			at = fmt.Sprintf("user-mode network %s by %s, gateway %s, forwarded ports %v", n.User.Subnet, n.User.Program(), n.User.Gateway, n.User.Forward)
		}
		all = append(all, fmt.Sprintf("%s: %s, MAC %s, %s, MTU %d, queues %d", inside.Device, at, inside.MAC,
			strings.Join(inside.Addresses, " "), inside.MTU, max(inside.Queues, 1)))
	}
	if v.Container != nil {
		all = append(all, v.Container.line())
	}
	return all
}

func (v VM) clone() VM {
	v.Container = v.Container.clone()
	v.NICs = each(v.NICs, func(n *VNIC) {
		if n.Inside != nil {
			inside := n.Inside.clone()
			n.Inside = &inside
		}
		if n.User != nil {
			user := *n.User
			user.Forward = slices.Clone(user.Forward)
			n.User = &user
		}
	})
	return v
}

func (c *checker) vm(v VM) {
	owner := "vm " + v.Name
	c.once(KindVM, v.Name)
	c.onNode(KindVM, v.Name, v.Node)
	if v.CPUs < 1 || v.CPUs > MaxVMCPUs {
		c.fault("%s: %d CPUs are not possible (1 to %d)", owner, v.CPUs, MaxVMCPUs)
	}
	if v.MemoryBytes < MinVMMemory || v.MemoryBytes%(1<<20) != 0 {
		c.fault("%s: %d bytes of memory are not possible: whole MiB, from %d MiB on", owner, v.MemoryBytes, MinVMMemory>>20)
	}
	if len(v.NICs) < 1 || len(v.NICs) > maxVMNICs {
		c.fault("%s: %d interfaces are not possible (1 to %d)", owner, len(v.NICs), maxVMNICs)
	}
	if v.Container != nil {
		c.guestContainer(owner, *v.Container)
	}
	devices := map[string]bool{}
	for _, n := range v.NICs {
		c.nic(owner, v, n)
		inside, _ := c.graph.Attached(n)
		if devices[inside.Device] {
			c.fault("%s has the interface %s twice", owner, inside.Device)
		}
		devices[inside.Device] = true
	}
}

func (c *checker) nic(owner string, v VM, n VNIC) {
	owner += ", interface of " + n.Place
	inside, tap := c.graph.Attached(n)
	switch {
	case inside.Device == "" || inside.Place != n.Place:
		c.fault("%s: it is neither the first end of a link nor at a socket", owner)
		return
	case (n.Socket == "" && n.User == nil) != (n.Inside == nil):
		c.fault("%s: an interface at a socket says what it is inside, and no other one does", owner)
	case n.Socket != "" && n.User != nil:
		c.fault("%s: it is at the socket %s, and has a user-mode network behind it", owner, n.Socket)
	case n.Inside == nil && tap.Place != v.Node:
		c.fault("%s: its tap is at %q, not on its node %s", owner, tap.Place, v.Node)
	case n.Socket != "" && !path.IsAbs(n.Socket) && !strings.HasPrefix(n.Socket, "{dir:"):
		c.fault("%s: the socket %q is no path", owner, n.Socket)
	case inside.MAC == "":
		c.fault("%s: it has no MAC, by which the guest knows it", owner)
	}
	if inside.Steering != SteerNone || inside.Bridge != "" {
		c.fault("%s: it is steered, or a port of a bridge, which is not done within a VM", owner)
	}
	if n.Inside != nil {
		c.end(owner, inside)
	}
	if n.User != nil {
		c.userNetwork(owner, n.Place, *n.User)
	}
}

func (c *checker) userNetwork(owner, place string, u UserNetwork) {
	subnet, err := netip.ParsePrefix(u.Subnet)
	if gateway, failed := netip.ParseAddr(u.Gateway); err != nil || failed != nil || !subnet.Contains(gateway) {
		c.fault("%s: a user-mode network cannot have the address %q in the subnet %q", owner, u.Gateway, u.Subnet)
	}
	if u.By != UserByQEMU && u.By != UserByPasst {
		c.fault("%s: a user-mode network by %q is unknown; use %q, or nothing for QEMU's own", owner, u.By, UserByPasst)
	}
	if node := c.graph.NodeOf(place); u.By == UserByPasst && c.devices[node+"/"+u.Device] == "" {
		c.fault("%s: passt's interface %s/%s is not in the graph", owner, node, u.Device)
	}
	for _, port := range u.Forward {
		if port < 1 || port > 65535 {
			c.fault("%s: the port %d is not possible", owner, port)
		}
	}
}
