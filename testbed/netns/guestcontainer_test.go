package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/testbed"
)

// behindAMachine is a client's stack, a machine's, and one in it, as a guest has them.
type behindAMachine struct{ client, machine, inside *Stack }

func newBehindAMachine(t *testing.T) behindAMachine {
	t.Helper()
	needRoot(t)
	b := New("a", nil, t.TempDir())
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	g := testbed.Graph{
		Cell: "M", Nodes: []testbed.Node{{Name: "a"}}, Containers: []testbed.Container{{Name: "machine", Node: "a"}},
		Links: []testbed.Link{{Name: "l", Role: result.RoleEndpoint, Ends: [2]testbed.Interface{
			{Place: "machine", Device: "eth0", MTU: 1500, Addresses: []string{"192.168.99.100/24"}},
			{Place: "a", Device: "v-machine", MTU: 1500, Addresses: []string{"192.168.99.1/24"}},
		}}},
	}
	if err := b.Apply(context.Background(), g, nil); err != nil {
		t.Fatal(err)
	}
	inside, err := NewStack("inside", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inside.Close() })
	return behindAMachine{b.Stack("M", "a"), b.Stack("M", "machine"), inside}
}

var inMachine = testbed.GuestContainer{Subnet: "172.17.0.0/16", Gateway: "172.17.0.1", Address: "172.17.0.2", Publish: []int{5201, 5202}}

// contain makes the container, or skips where the kernel has no NAT.
func (b behindAMachine) contain(t *testing.T) {
	t.Helper()
	err := Contain(context.Background(), b.machine, b.inside, inMachine, netip.MustParseAddr("192.168.99.100"), 1500)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPROTONOSUPPORT) {
		t.Skipf("not measured here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// greet connects from a stack, and returns from where the listener saw it come.
func greet(t *testing.T, from, to *Stack, listen, connect string) string {
	t.Helper()
	var l net.Listener
	if err := to.Do(func() (err error) { l, err = net.Listen("tcp4", listen); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var c net.Conn
	if err := from.Do(func() (err error) { c, err = net.DialTimeout("tcp4", connect, 5*time.Second); return err }); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(5 * time.Second))
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	_ = accepted.SetDeadline(time.Now().Add(5 * time.Second))
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, 5)
	if _, err := io.ReadFull(accepted, hello); err != nil {
		t.Fatal(err)
	}
	host, _, _ := net.SplitHostPort(accepted.RemoteAddr().String())
	return host
}

func TestAGuestsContainer(t *testing.T) {
	b := newBehindAMachine(t)
	b.contain(t)
	b.contain(t) // by a worker that came later
	if err := Uncontained(context.Background(), b.machine, b.inside, inMachine, 1500); err != nil {
		t.Error(err)
	}
	if from := greet(t, b.client, b.inside, "0.0.0.0:5202", "192.168.99.100:5202"); from != "192.168.99.1" {
		t.Errorf("a client of a published port is seen as %s, not as itself", from)
	}
	if from := greet(t, b.inside, b.client, "192.168.99.1:5201", "192.168.99.1:5201"); from != "192.168.99.100" {
		t.Errorf("the container is seen as %s, not as its machine", from)
	}
	var at, from net.Conn
	if err := b.inside.Do(func() (err error) {
		at, err = net.ListenUDP("udp4", &net.UDPAddr{Port: 5201})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if err := b.client.Do(func() (err error) { from, err = net.Dial("udp4", "192.168.99.100:5201"); return err }); err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	_ = at.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(from, "hello"); err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, 9)
	if n, err := at.Read(hello); err != nil || string(hello[:n]) != "hello" {
		t.Errorf("a datagram came as %q (%v)", hello[:n], err)
	}
	other := inMachine
	other.Address = "172.17.0.3"
	if err := Uncontained(context.Background(), b.machine, b.inside, other, 1500); err == nil || !strings.Contains(err.Error(), "172.17.0.3/16") {
		t.Errorf("another address is not missed: %v", err)
	}
}

// TestThePortsOfManyPairs are published in one transaction: of the most that a cell has, and with as many answers.
func TestThePortsOfManyPairs(t *testing.T) {
	b := newBehindAMachine(t)
	b.contain(t)
	many := inMachine
	for port := 10000; len(many.Publish) < 2*64; port++ {
		many.Publish = append(many.Publish, port)
	}
	if err := Contain(context.Background(), b.machine, b.inside, many, netip.MustParseAddr("192.168.99.100"), 1500); err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprint(":", many.Publish[len(many.Publish)-1])
	if from := greet(t, b.client, b.inside, "0.0.0.0"+last, "192.168.99.100"+last); from != "192.168.99.1" {
		t.Errorf("a client of the last port is seen as %s", from)
	}
}

// What is refused leaves nothing half done, and says so.
func TestPortsThatCannotBePublished(t *testing.T) {
	b := newBehindAMachine(t)
	err := b.machine.Do(func() error {
		return publishPorts(netip.MustParseAddr("192.168.99.100"), netip.MustParseAddr("fd00::1"), []int{1})
	})
	if err == nil || !strings.Contains(err.Error(), "nf_tables") {
		t.Errorf("an address of 16 bytes for one of 4: %v", err)
	}
}
