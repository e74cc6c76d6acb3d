// Package lab is for tests: network namespaces without names, which end with the test, and what
// stands in them.
package lab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// NeedRoot skips a test that cannot run.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (network namespaces, BPF)")
	}
}

// Namespace is a network namespace that lives as long as its test.
type Namespace struct {
	t      *testing.T
	handle netns.NsHandle
	links  *netlink.Handle
}

// NewNamespace makes one, with its loopback up.
func NewNamespace(t *testing.T) *Namespace {
	t.Helper()
	n := &Namespace{t: t}
	onThread(t, func() error {
		var err error
		if n.handle, err = netns.New(); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		// Neighbour discovery would put packets into the account that no test sent.
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0o644)
	})
	n.open()
	n.Up("lo")
	return n
}

// open lets the test change what is in the namespace, until it ends.
func (n *Namespace) open() {
	n.t.Helper()
	var err error
	if n.links, err = netlink.NewHandleAt(n.handle, unix.NETLINK_ROUTE); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		n.links.Close()
		n.handle.Close()
	})
}

// Host is the namespace that the test's own process is in.
func Host(t *testing.T) *Namespace {
	t.Helper()
	n := &Namespace{t: t}
	var err error
	if n.handle, err = netns.Get(); err != nil {
		t.Fatal(err)
	}
	n.open()
	return n
}

// onThread runs f on a thread of its own, which ends with it: so it may change namespaces.
func onThread(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Path names it to other processes while the test runs.
func (n *Namespace) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), int(n.handle)) }

// Do runs f in the namespace.
func (n *Namespace) Do(f func() error) {
	n.t.Helper()
	onThread(n.t, func() error {
		if err := netns.Set(n.handle); err != nil {
			return fmt.Errorf("entering a network namespace: %w", err)
		}
		return f()
	})
}

// Start runs a program in the namespace; it is killed with the test at the latest.
func (n *Namespace) Start(c *exec.Cmd) {
	n.t.Helper()
	n.Do(c.Start)
	n.t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Signal(syscall.SIGKILL)
			_ = c.Wait()
		}
	})
}

// Veth makes a pair, an end in each of two namespaces, both up.
func Veth(a *Namespace, nameA string, b *Namespace, nameB string, mtu int, macB string) {
	a.t.Helper()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = nameA, mtu
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: nameB, PeerNamespace: netlink.NsFd(b.handle)}
	if err := a.links.LinkAdd(pair); err != nil {
		a.t.Fatalf("making the veth pair %s, %s: %v", nameA, nameB, err)
	}
	if macB != "" {
		b.Must("setting a MAC", b.links.LinkSetHardwareAddr(b.Link(nameB), mac(macB)))
	}
	b.Must("setting an MTU", b.links.LinkSetMTU(b.Link(nameB), mtu))
	a.Up(nameA)
	b.Up(nameB)
}

func mac(text string) []byte {
	var m [6]byte
	if _, err := fmt.Sscanf(text, "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]); err != nil {
		panic(err)
	}
	return m[:]
}

// Must fails the test on an error.
func (n *Namespace) Must(doing string, err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatalf("%s: %v", doing, err)
	}
}

// Link finds an interface.
func (n *Namespace) Link(name string) netlink.Link {
	n.t.Helper()
	l, err := n.links.LinkByName(name)
	n.Must("finding "+name, err)
	return l
}

// Up sets an interface up.
func (n *Namespace) Up(name string) {
	n.t.Helper()
	n.Must("setting up "+name, n.links.LinkSetUp(n.Link(name)))
}

// Address gives an interface an address such as 10.0.0.1/24.
func (n *Namespace) Address(name, address string) {
	n.t.Helper()
	a, err := netlink.ParseAddr(address)
	n.Must("reading an address", err)
	n.Must("adding an address", n.links.AddrAdd(n.Link(name), a))
}

// RemoveAddress is the reverse of Address.
func (n *Namespace) RemoveAddress(name, address string) {
	n.t.Helper()
	a, err := netlink.ParseAddr(address)
	n.Must("reading an address", err)
	n.Must("removing an address", n.links.AddrDel(n.Link(name), a))
}

// Route leads a prefix by an interface to a gateway, which may be of the other family.
func (n *Namespace) Route(name, prefix, gateway string) {
	n.t.Helper()
	to, err := netlink.ParseIPNet(prefix)
	n.Must("reading a prefix", err)
	r := &netlink.Route{LinkIndex: n.Link(name).Attrs().Index, Dst: to}
	if by := net.ParseIP(gateway); to.IP.To4() != nil && by.To4() == nil {
		r.Via = &netlink.Via{AddrFamily: netlink.FAMILY_V6, Addr: by}
	} else {
		r.Gw = by
	}
	n.Must("adding a route", n.links.RouteAdd(r))
}

// LinkLocal is an interface's own IPv6 address.
func (n *Namespace) LinkLocal(name string) string {
	n.t.Helper()
	addresses, err := n.links.AddrList(n.Link(name), netlink.FAMILY_V6)
	n.Must("listing addresses", err)
	for _, a := range addresses {
		if a.IP.IsLinkLocalUnicast() {
			return a.IP.String()
		}
	}
	n.t.Fatalf("%s has no link-local address", name)
	return ""
}

// SetMAC gives an interface a MAC address.
func (n *Namespace) SetMAC(name, address string) {
	n.t.Helper()
	n.Must("setting a MAC", n.links.LinkSetHardwareAddr(n.Link(name), mac(address)))
}

// SetMTU sets an interface's MTU, in bytes of an IP packet.
func (n *Namespace) SetMTU(name string, mtu int) {
	n.t.Helper()
	n.Must("setting an MTU", n.links.LinkSetMTU(n.Link(name), mtu))
}

// Forget empties an interface's neighbour table.
func (n *Namespace) Forget(name string) {
	n.t.Helper()
	neighbours, err := n.links.NeighList(n.Link(name).Attrs().Index, netlink.FAMILY_ALL)
	n.Must("listing neighbours", err)
	for _, neighbour := range neighbours {
		n.Must("forgetting a neighbour", n.links.NeighDel(&neighbour))
	}
}

// Move gives an interface to another namespace, where it is set up.
func (n *Namespace) Move(name string, to *Namespace) {
	n.t.Helper()
	n.Must("moving "+name, n.links.LinkSetNsFd(n.Link(name), int(to.handle)))
	to.Up(name)
}

// HostTap makes a tap that nobody holds, and sets it up.
func HostTap(n *Namespace, name string, mtu int) {
	n.t.Helper()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = name, mtu
	n.Do(func() error {
		return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attributes, Mode: netlink.TUNTAP_MODE_TAP})
	})
	n.Up(name)
}

// Names are those of all interfaces.
func (n *Namespace) Names() (names []string) {
	n.t.Helper()
	links, err := n.links.LinkList()
	n.Must("listing the interfaces", err)
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	return names
}

// Delete removes an interface.
func (n *Namespace) Delete(name string) {
	n.t.Helper()
	n.Must("deleting "+name, n.links.LinkDel(n.Link(name)))
}

// Await waits until a condition holds.
func Await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("10 s went by, and still not: %s", what)
}

// EnableIPv6 lets an interface have IPv6 addresses, which are usable at once.
func EnableIPv6(n *Namespace, name string) {
	n.t.Helper()
	n.Do(func() error {
		for _, k := range [][2]string{{"accept_dad", "0"}, {"disable_ipv6", "0"}} {
			if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/"+k[0], []byte(k[1]), 0o644); err != nil {
				return fmt.Errorf("enabling IPv6: %w", err)
			}
		}
		return nil
	})
}

// Cleanup calls f when the test has ended.
func (n *Namespace) Cleanup(f func()) { n.t.Cleanup(f) }
