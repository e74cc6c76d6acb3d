package vrouter_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"windtunnel/ethtool"
	"windtunnel/vrouter/built"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// program is cmd/vrouter, built once for all tests.
var program = struct {
	once   sync.Once
	folder string // what to remove
	path   string
	err    error
}{}

func TestMain(m *testing.M) {
	code := m.Run()
	if program.folder != "" {
		os.RemoveAll(program.folder)
	}
	os.Exit(code)
}

func vrouterBinary(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		// A machine that has no Go, such as scripts/kernels.sh makes, brings it along.
		if path := os.Getenv("VROUTER_PROGRAM"); path != "" {
			program.path = path
			return
		}
		folder, err := os.MkdirTemp("", "vrouter-test-")
		if err != nil {
			program.err = err
			return
		}
		program.folder, program.path = folder, filepath.Join(folder, "vrouter")
		program.err = built.Go("windtunnel/cmd/vrouter", program.path)
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

// processLimit is how long a vRouter may take to start or to end, on a machine that has a lot to do. One that
// takes longer is killed, so that a test fails and does not hang.
const processLimit = time.Minute

// vrouterCommand is one that ends by itself.
func vrouterCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), processLimit)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, vrouterBinary(t), args...)
	c.WaitDelay = time.Second
	return c
}

// A container is a namespace with one end of a veth.
type container struct {
	*lab.Namespace
	address netip.Addr
}

// A node is a namespace with a wire and a vRouter.
type node struct {
	*lab.Namespace
	t       *testing.T
	config  config.Config
	folder  string
	process *exec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer
	stdout  *bufio.Reader
	ready   map[string]any
	mode    []string        // flags that choose it
	start   func(*exec.Cmd) // how to run a program on the node
}

// bed is two nodes on a wire:
//
//	a1 --+                                   +-- b1
//	     | node 10.0.0.1 ===wire=== 10.0.0.2 |
//	a2 --+                                   +
//
// a1 is 10.0.1.3, a2 is 10.0.1.5, b1 is 10.0.1.4.
type bed struct {
	a, b       *node
	a1, a2, b1 *container
}

const (
	containerMTU = 1500
	wireMTU      = 1500
	vni          = 5001 // of network1
)

// innerMTU is what a tunnel leaves of the wire's.
func innerMTU(e config.Encapsulation) int { return wireMTU - int(config.Overhead[e]) }

func newBed(t *testing.T, encapsulation config.Encapsulation) *bed {
	t.Helper()
	lab.NeedRoot(t)
	b := &bed{a: newNode(t, "a", "10.0.0.1"), b: newNode(t, "b", "10.0.0.2")}
	lab.Veth(b.a.Namespace, "wire0", b.b.Namespace, "wire0", wireMTU, "")
	b.a.Address("wire0", "10.0.0.1/24")
	b.b.Address("wire0", "10.0.0.2/24")
	b.a1 = b.a.port("a1", 3, 16)
	b.a2 = b.a.port("a2", 5, 18)
	b.b1 = b.b.port("b1", 4, 17)
	b.a.route("10.0.1.4/32", "10.0.0.2", encapsulation, 17)
	b.b.route("10.0.1.3/32", "10.0.0.1", encapsulation, 16)
	b.b.route("10.0.1.5/32", "10.0.0.1", encapsulation, 18)
	return b
}

// namespaces are those of the nodes and of all their containers that there are.
func (b *bed) namespaces() (all []*lab.Namespace) {
	for _, n := range []*node{b.a, b.b} {
		if n != nil {
			all = append(all, n.Namespace)
		}
	}
	for _, c := range []*container{b.a1, b.a2, b.b1} {
		if c != nil {
			all = append(all, c.Namespace)
		}
	}
	return all
}

func newNode(t *testing.T, name, address string) *node {
	t.Helper()
	n := &node{Namespace: lab.NewNamespace(t), t: t, folder: t.TempDir()}
	n.start = n.Start
	n.config = config.Config{
		Format: config.Format, Name: "test-" + name,
		Fabric: config.Fabric{Interface: "wire0", Address: netip.MustParseAddr(address)},
		Networks: []config.Network{{
			Name: "network1", Subnet: netip.MustParsePrefix("10.0.1.0/24"), Gateway: netip.MustParseAddr("10.0.1.254"), VNI: vni,
		}},
	}
	return n
}

// port makes a container 10.0.1.last, and configures it.
func (n *node) port(name string, last byte, label uint32) *container {
	n.t.Helper()
	c := &container{Namespace: lab.NewNamespace(n.t), address: netip.AddrFrom4([4]byte{10, 0, 1, last})}
	mac := config.MAC{2, 0, 0, 0, 1, last}
	lab.Veth(n.Namespace, "v-"+name, c.Namespace, "eth0", containerMTU, mac.String())
	c.Address("eth0", c.address.String()+"/24")
	n.config.Ports = append(n.config.Ports, config.Port{
		Name: name, Interface: "v-" + name, Network: "network1", Address: c.address, MAC: mac, Label: label,
	})
	return c
}

func (n *node) route(prefix, tunnel string, encapsulation config.Encapsulation, label uint32) {
	via := config.Via{Tunnel: netip.MustParseAddr(tunnel), Encapsulation: encapsulation, Label: label}
	if encapsulation == config.NoEncapsulation || encapsulation == config.VXLAN {
		via.Label = 0
	}
	n.config.Routes = append(n.config.Routes, config.Route{Network: "network1", Prefix: netip.MustParsePrefix(prefix), Via: via})
}

func (n *node) socket() string { return filepath.Join(n.folder, "socket") }

// run starts the node's vRouter and waits until it says that it is ready.
func (n *node) run(flags ...string) {
	n.t.Helper()
	n.launch(flags...)
	n.up()
}

// launch starts the node's vRouter, which then makes itself ready.
func (n *node) launch(flags ...string) {
	n.t.Helper()
	text, err := json.Marshal(n.config)
	n.Must("writing the configuration", err)
	file := filepath.Join(n.folder, "config.json")
	n.Must("writing the configuration", os.WriteFile(file, text, 0o600))
	n.stderr.Reset()
	n.process = exec.Command(vrouterBinary(n.t), append(append([]string{"run", "--config", file, "--socket", n.socket()}, n.mode...), flags...)...)
	n.process.Stderr = &n.stderr
	n.stdin, err = n.process.StdinPipe()
	n.Must("making a pipe", err)
	stdout, err := n.process.StdoutPipe()
	n.Must("making a pipe", err)
	n.stdout = bufio.NewReader(stdout)
	n.start(n.process)
}

// up waits until a vRouter that was launched says that it is ready.
func (n *node) up() {
	n.t.Helper()
	limit := time.AfterFunc(processLimit, n.kill)
	defer limit.Stop()
	line, err := n.stdout.ReadBytes('\n')
	if err != nil {
		_ = n.process.Wait()
		n.t.Fatalf("the vRouter of %s did not start (%v): %s", n.config.Name, n.process.ProcessState, n.stderr.String())
	}
	n.ready = nil
	n.Must("reading the ready line", json.Unmarshal(line, &n.ready))
}

// end closes what the lease hangs on, and waits for the process.
func (n *node) end() {
	n.t.Helper()
	n.stdin.Close()
	if err := n.wait(); err != nil {
		n.t.Errorf("the vRouter ended with %v: %s", err, n.stderr.String())
	}
}

func (n *node) wait() error {
	limit := time.AfterFunc(processLimit, n.kill)
	defer limit.Stop()
	return n.process.Wait()
}

func (n *node) kill() { _ = n.process.Process.Kill() } // it may have ended by itself

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	n.Must("signalling", n.process.Process.Signal(s))
	_ = n.wait()
}

// run starts both vRouters side by side: most of a start is one CPU's work, the verifier's.
func (b *bed) run(flags ...string) {
	b.launch(flags, flags)
}

// launch starts each node's vRouter with its own flags.
func (b *bed) launch(a, z []string) {
	b.a.t.Helper()
	b.a.launch(a...)
	b.b.launch(z...)
	b.a.up()
	b.b.up()
	for _, n := range []*node{b.a, b.b} {
		lab.Await(n.t, "all tunnels are resolved", n.resolved)
	}
}

func (n *node) resolved() bool { return len(ask[control.Status](n, "status").Unresolved) == 0 }

// ask reads one of a node's tables.
func ask[R any](n *node, what string) R {
	n.t.Helper()
	reply, err := control.Ask(n.socket(), control.Request{Get: what})
	n.Must("asking for "+what, err)
	var value R
	n.Must("reading "+what, json.Unmarshal(reply, &value))
	return value
}

func (n *node) apply() error {
	text, err := json.Marshal(n.config)
	if err != nil {
		return err
	}
	_, err = control.Ask(n.socket(), control.Request{Apply: text})
	return err
}

// addsUp checks that every packet has exactly one account.
func (n *node) addsUp() control.Stats {
	n.t.Helper()
	var s control.Stats
	lab.Await(n.t, "received = forwarded + passed + answered + dropped = the sum over the reasons", func() bool {
		s = ask[control.Stats](n, "stats")
		sum := func(of func(control.Count) uint64) bool {
			return of(s.Received) == of(s.Forwarded)+of(s.Passed)+of(s.Answered)+of(s.Dropped)
		}
		return sum(func(c control.Count) uint64 { return c.Packets }) && sum(func(c control.Count) uint64 { return c.Segments }) &&
			sum(func(c control.Count) uint64 { return c.Bytes }) && portsAddUp(s) && n.allDropped() == s.Dropped
	})
	return s
}

// allDropped is the sum over all reasons.
func (n *node) allDropped() (all control.Count) {
	n.t.Helper()
	for _, d := range ask[[]control.Drop](n, "drops") {
		all.Packets += d.Packets
		all.Segments += d.Segments
		all.Bytes += d.Bytes
	}
	return all
}

// offload switches features of an interface.
func offload(n *lab.Namespace, name string, features map[string]bool) {
	n.Do(func() error {
		e, err := ethtool.Open()
		if err != nil {
			return err
		}
		defer e.Close()
		return e.Change(name, features)
	})
}

// segmentation off: TCP and UDP aggregates end at this interface.
var noSegmentation = map[string]bool{"tx-tcp-segmentation": false, "tx-generic-segmentation": false, "rx-gro": false, "tx-udp-segmentation": false}
