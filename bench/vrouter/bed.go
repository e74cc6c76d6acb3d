package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"windtunnel/bench/wire"
	"windtunnel/traffic"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

// bed is a vRouter on each node of a wire, which forwards at tc. Every network of the sprayed frames has
// a container on node A; they all go to one container on node B.
type bed struct {
	wire     *wire.Wire
	dir      string
	daemons  []*exec.Cmd
	networks []network
	counted  *counter
}

// network is one of those that frames are sprayed at: all have the same addresses.
type network struct {
	name string
	spray
	clamp  bool
	way    config.Via
	routes int // to the destinations of the spray
	flow   bool
}

// everything is the policy of ports in flow mode.
const everything = "everything"

// silence is how long a flow may be silent: longer than the other networks' turns take.
const silence = 3600

// Containers of a node stand in one namespace, an interface each: what tells them apart is their port.
var (
	senders   = wire.Node{Namespace: "wtst-bench-ca", CPU: wire.A.CPU}
	receivers = wire.Node{Namespace: "wtst-bench-cb", CPU: wire.B.CPU}

	gatewayMAC    = [6]byte{0, 0, 0x5e, 0, 1, 0}
	senderMAC     = config.MAC{2, 0, 0, 0, 1, 3}
	receiverMAC   = config.MAC{2, 0, 0, 0, 1, 4}
	senderIP      = netip.MustParseAddr("10.0.1.3")
	receiverIP    = netip.MustParseAddr("10.0.1.4")
	subnet        = netip.MustParsePrefix("10.0.1.0/24")
	subnetGateway = netip.MustParseAddr("10.0.1.254")
)

const (
	receiverLabel = 16
	receiverVNI   = 5001
	patience      = 20 * time.Second
	lookEvery     = 5 * time.Millisecond
	routesAtOnce  = 20_000
)

func newBed(ctx context.Context, bin string, networks []network) (b *bed, err error) {
	b = &bed{networks: networks}
	defer func() {
		if err != nil {
			b.remove()
		}
	}()
	if b.dir, err = os.MkdirTemp("", "windtunnel-bench-"); err != nil {
		return b, err
	}
	if b.wire, err = wire.Lay(ctx, wire.NIC, 0); err != nil {
		return b, fmt.Errorf("laying the wire: %w", err)
	}
	for _, n := range []wire.Node{senders, receivers} {
		if err := command(ctx, "ip", "netns", "add", n.Namespace); err != nil {
			return b, err
		}
	}
	if err := b.containers(ctx); err != nil {
		return b, err
	}
	program := filepath.Join(bin, "vrouter")
	for _, d := range []struct {
		node   wire.Node
		config config.Config
	}{{wire.B, b.receiving()}, {wire.A, b.sending()}} {
		if err := b.start(ctx, program, d.node, d.config); err != nil {
			return b, fmt.Errorf("starting a vRouter: %w", err)
		}
	}
	return b, b.fill(ctx)
}

// containers makes the pairs of interfaces. A veth takes live frames only if its other end has a NAPI,
// which GRO gives it (veth_xdp_xmit in drivers/net/veth.c).
func (b *bed) containers(ctx context.Context) error {
	for i := range b.networks {
		if err := plug(ctx, wire.A, hostEnd(i), senders, senderEnd(i), senderMAC); err != nil {
			return err
		}
		if err := command(ctx, "ip", "netns", "exec", wire.A.Namespace, "ethtool", "-K", hostEnd(i), "gro", "on"); err != nil {
			return err
		}
	}
	if err := plug(ctx, wire.B, "v-receiver", receivers, "c-receiver", receiverMAC); err != nil {
		return err
	}
	return inside(receivers, func() error {
		device, err := netlink.LinkByName("c-receiver")
		if err == nil {
			b.counted, err = newCounter(device.Attrs().Index)
		}
		return err
	})
}

func hostEnd(i int) string   { return fmt.Sprintf("v%d", i) }
func senderEnd(i int) string { return fmt.Sprintf("c%d", i) }

// plug makes a veth pair between a node and the namespace of its containers, without IPv6, whose own
// packets nobody sprayed.
func plug(ctx context.Context, node wire.Node, near string, containers wire.Node, far string, mac config.MAC) error {
	for _, args := range [][]string{
		{"-n", node.Namespace, "link", "add", near, "type", "veth", "peer", "name", far, "address", mac.String(), "netns", containers.Namespace},
		{"netns", "exec", containers.Namespace, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/" + far + "/disable_ipv6"},
		{"netns", "exec", node.Namespace, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/" + near + "/disable_ipv6"},
		{"-n", node.Namespace, "link", "set", near, "up"},
		{"-n", containers.Namespace, "link", "set", far, "up"},
	} {
		if err := command(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// sending is node A's configuration, but for the many routes.
func (b *bed) sending() config.Config {
	c := base(wire.A)
	c.Limits = config.Limits{Routes: 1000, Flows: 1000}
	c.Policies = []config.Policy{{Name: everything, Default: config.Allow}}
	c.Idle = config.Idle{Opening: silence}
	for i, n := range b.networks {
		c.Limits.Routes += n.routes
		c.Networks = append(c.Networks, config.Network{Name: n.name, Subnet: subnet, Gateway: subnetGateway, MSSClamp: &n.clamp})
		port := config.Port{Name: n.name, Interface: hostEnd(i), Network: n.name, Address: senderIP, MAC: senderMAC, Fast: config.FastOff}
		if n.flow {
			c.Limits.Flows += n.flows
			port.Flow.Policy = everything
		}
		c.Ports = append(c.Ports, port)
		c.Routes = append(c.Routes, config.Route{Network: n.name, Prefix: netip.PrefixFrom(receiverIP, 32), Via: n.way})
	}
	return c
}

func (b *bed) receiving() config.Config {
	c := base(wire.B)
	c.Networks = []config.Network{{Name: "all", Subnet: subnet, Gateway: subnetGateway, VNI: receiverVNI}}
	c.Ports = []config.Port{{Name: "receiver", Interface: "v-receiver", Network: "all", Address: receiverIP, MAC: receiverMAC, Label: receiverLabel, Fast: config.FastOff}}
	return c
}

func base(n wire.Node) config.Config {
	return config.Config{
		Format: config.Format, Name: "bench-" + n.Device,
		Fabric: config.Fabric{Interface: n.Device, Address: netip.MustParseAddr(n.Address), Receive: config.ReceiveTC, Fast: config.FastOff},
	}
}

// start runs a vRouter on a node until it says that it is ready.
func (b *bed) start(ctx context.Context, program string, node wire.Node, c config.Config) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, c.Name+".json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	daemon := node.Command(ctx, 0, program, "run", "--config", file, "--socket", b.socket(node), "--lease")
	var problems strings.Builder
	daemon.Stderr = &problems
	output, err := daemon.StdoutPipe()
	if err != nil {
		return err
	}
	daemon.Cancel = func() error { return daemon.Process.Signal(os.Interrupt) }
	if err := daemon.Start(); err != nil {
		return err
	}
	b.daemons = append(b.daemons, daemon)
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.Contains(line, `"ready":true`) {
		wire.StopProcess(daemon)
		return fmt.Errorf("it ended with %q: %s", line, problems.String())
	}
	return nil
}

func (b *bed) socket(n wire.Node) string { return filepath.Join(b.dir, n.Device+".sock") }

// fill gives the networks their routes, and waits until the way to the far end is known.
func (b *bed) fill(ctx context.Context) error {
	for _, n := range b.networks {
		for from := 0; from < n.routes; from += routesAtOnce {
			var changes []config.Change
			for i := from; i < min(from+routesAtOnce, n.routes); i++ {
				changes = append(changes, config.Change{Network: n.name, Prefix: netip.PrefixFrom(destination(i), 32), Via: &n.way})
			}
			text, err := json.Marshal(changes)
			if err != nil {
				return err
			}
			if _, err := control.Ask(b.socket(wire.A), control.Request{Routes: text}); err != nil {
				return fmt.Errorf("adding routes: %w", err)
			}
		}
	}
	for limit := time.Now().Add(patience); ; {
		reply, err := control.Ask(b.socket(wire.A), control.Request{Get: "status"})
		var status control.Status
		if err := errors.Join(err, json.Unmarshal(reply, &status)); err != nil {
			return err
		}
		if len(status.Unresolved) == 0 {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the MACs of %v are unknown after %s", status.Unresolved, patience)
		}
		if err := wire.Wait(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// inside runs something on a thread of its own on a node's CPU, in its namespace.
func inside(n wire.Node, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its binding and namespace
		there, err := netns.GetFromName(n.Namespace)
		if err != nil {
			done <- err
			return
		}
		defer there.Close()
		if err := errors.Join(traffic.PinThread(n.CPU), netns.Set(there)); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// remove ends the vRouters, which take what is theirs away, and then the namespaces.
func (b *bed) remove() {
	for _, d := range b.daemons {
		if d.ProcessState == nil && d.Process.Signal(unix.SIGTERM) == nil {
			d.Wait() // an error is that it was told to end
		}
	}
	if b.counted != nil {
		b.counted.close()
	}
	for _, n := range []wire.Node{senders, receivers} {
		if err := command(context.Background(), "ip", "netns", "del", n.Namespace); err != nil && !strings.Contains(err.Error(), "No such file") {
			fmt.Fprintln(os.Stderr, "bench-vrouter:", err)
		}
	}
	if b.wire != nil {
		b.wire.Remove()
	}
	os.RemoveAll(b.dir)
}
