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
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/bench/wire"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

// bed is a vRouter on each node of a wire, which forwards at tc. Every network of the sprayed frames has
// a container on node A; they all go to one container on node B, bridged frames to another.
type bed struct {
	wire     *wire.Wire
	dir      string
	daemons  []*exec.Cmd
	networks []network
	counters []*wire.Counter // of the receivers' interfaces
}

// Containers of a node stand in one namespace, an interface each: what tells them apart is their port.
var (
	senders   = wire.Node{Namespace: "wtst-bench-ca", CPU: wire.A.CPU}
	receivers = wire.Node{Namespace: "wtst-bench-cb", CPU: wire.B.CPU}

	gatewayMAC  = [6]byte{0, 0, 0x5e, 0, 1, 0}
	senderMAC   = config.MAC{2, 0, 0, 0, 1, 3}
	receiverMAC = config.MAC{2, 0, 0, 0, 1, 4}
	// receiverEnds are node B's interfaces, with the containers'.
	receiverEnds = map[string]string{"v-receiver": "c-receiver", "v-bridged": "c-bridged"}
)

const (
	patience     = 20 * time.Second
	lookEvery    = 5 * time.Millisecond
	routesAtOnce = 20_000
	pause        = 20 * time.Microsecond // of a device between looks for packets: what NICs have by default is 8 to 50
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
	if err := b.wire.Moderate(ctx, pause); err != nil {
		return b, fmt.Errorf("moderating the wire: %w", err)
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
	for near, far := range receiverEnds {
		if err := plug(ctx, wire.B, near, receivers, far, receiverMAC); err != nil {
			return err
		}
		if err := b.countAt(far); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) countAt(far string) error {
	return receivers.Inside(0, func() error {
		device, err := netlink.LinkByName(far)
		if err != nil {
			return err
		}
		counter, err := wire.CountAtTC(device.Attrs().Index)
		if err == nil {
			b.counters = append(b.counters, counter)
		}
		return err
	})
}

// count is how many frames have come.
func (b *bed) count() (sum uint64, err error) {
	for _, c := range b.counters {
		n, err := c.Count()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
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
	if err := wire.StartLeased(daemon); err != nil {
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

// remove ends the vRouters, which take what is theirs away, and then the namespaces.
func (b *bed) remove() {
	for _, d := range b.daemons {
		if d.ProcessState == nil && d.Process.Signal(unix.SIGTERM) == nil {
			d.Wait() // an error is that it was told to end
		}
	}
	for _, c := range b.counters {
		c.Close()
	}
	if b.wire != nil { // else the namespaces are another bench's
		for _, n := range []wire.Node{senders, receivers} {
			if err := command(context.Background(), "ip", "netns", "del", n.Namespace); err != nil && !strings.Contains(err.Error(), "No such file") {
				fmt.Fprintln(os.Stderr, "bench-vrouter:", err)
			}
		}
		b.wire.Remove()
	}
	os.RemoveAll(b.dir)
}
