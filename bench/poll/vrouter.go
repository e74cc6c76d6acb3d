package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/poll"
)

// The addresses of the one network, its port and the nodes.
var (
	gatewayMAC    = [6]byte{0, 0, 0x5e, 0, 1, 0}
	senderMAC     = config.MAC{2, 0, 0, 0, 1, 3}
	farMAC        = config.MAC{2, 0, 0, 0, 0, 2}
	subnet        = netip.MustParsePrefix("10.0.1.0/24")
	subnetGateway = netip.MustParseAddr("10.0.1.254")
	senderIP      = netip.MustParseAddr("10.0.1.3")
	nearIP        = netip.MustParseAddr("10.0.0.1")
	farIP         = netip.MustParseAddr("10.0.0.2")

	bareIP  = netip.MustParseAddr("10.0.2.4")
	mplsIP  = netip.MustParseAddr("10.0.3.4")
	vxlanIP = netip.MustParseAddr("10.0.4.4")
)

const (
	farLabel = 16
	farVNI   = 5001
	// tap is the host's interface beside the fabric's device.
	tap          = "vr0"
	routesAtOnce = 20_000
	everything   = "everything" // a policy
	pollMemory   = 192          // MiB of huge pages that a process takes
	silence      = 3600         // seconds that a flow may be silent: longer than the others' turns take
)

// The destinations of many routes are spread over 11.0.0.0/8: an odd factor gives no two numbers of 24
// bits the same address, and neighbours none that are near, as a table of routes from everywhere has them.
const (
	spreadOver   = 11 << 24
	spreadMask   = 1<<24 - 1
	spreadFactor = 10_368_889
)

func destination(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], spreadOver|uint32(i)*spreadFactor&spreadMask)
	return netip.AddrFrom4(b)
}

// table is what a vRouter has to do.
type table struct {
	routes int  // of the spread ones
	flows  int  // in flow mode: so many; 0: packet mode
	sum    bool // tunnel packets have an outer UDP checksum
	hands  bool // two CPUs forward what one of them reads
}

func (t table) config(p *place) config.Config {
	mpls := config.Via{Tunnel: farIP, Encapsulation: config.MPLSoUDP, Label: farLabel}
	c := config.Config{
		Format: config.Format, Name: p.name,
		Fabric:   config.Fabric{Interface: tap, Address: nearIP, Device: &config.Device{Vhost: p.file("out")}, UDPChecksum: t.sum},
		Limits:   config.Limits{Routes: 1000 + t.routes, Flows: 1000 + t.flows},
		Networks: []config.Network{{Name: "network", Subnet: subnet, Gateway: subnetGateway}},
		Ports:    []config.Port{{Name: "port", Vhost: p.file("in"), Network: "network", Address: senderIP, MAC: senderMAC, Label: farLabel}},
		Routes: []config.Route{
			{Network: "network", Prefix: netip.PrefixFrom(bareIP, 32), Via: config.Via{Tunnel: farIP, Encapsulation: config.NoEncapsulation}},
			{Network: "network", Prefix: netip.PrefixFrom(mplsIP, 32), Via: mpls},
			{Network: "network", Prefix: netip.PrefixFrom(vxlanIP, 32), Via: config.Via{Tunnel: farIP, Encapsulation: config.VXLAN, VNI: farVNI}},
		},
	}
	if t.flows > 0 {
		c.Policies = []config.Policy{{Name: everything, Default: config.Allow}}
		c.Idle = config.Idle{Opening: silence}
		c.Ports[0].Flow.Policy = everything
	}
	return c
}

// newPoll starts a vRouter in poll mode.
func newPoll(ctx context.Context, dir, bin, name string, t table) (d *device, err error) {
	p, err := newPlace(dir, name)
	d = &device{name: name, place: p, in: p.file("in"), out: p.file("out")}
	if err != nil {
		return d, err
	}
	for _, args := range [][]string{
		{"ip", "tuntap", "add", tap, "mode", "tap"},
		{"ip", "address", "add", nearIP.String() + "/24", "dev", tap},
		{"ip", "link", "set", tap, "up"},
		{"ip", "neighbour", "add", farIP.String(), "lladdr", farMAC.String(), "dev", tap, "nud", "permanent"},
	} {
		if err := p.inside(ctx, args...); err != nil {
			return d, err
		}
	}
	text, err := json.Marshal(t.config(p))
	if err == nil {
		err = os.WriteFile(p.file("node.json"), text, 0o600)
	}
	if err != nil {
		return d, err
	}
	if err := runVrouter(ctx, p, bin, t); err != nil {
		return d, err
	}
	return d, t.fill(ctx, d)
}

// runVrouter waits until it is ready.
func runVrouter(ctx context.Context, p *place, bin string, t table) error {
	args := []string{filepath.Join(bin, "vrouter"), "run", "--config", p.file("node.json"), "--socket", p.file("vrouter"), "--lease", "--mode", "poll",
		"--poll-cpu", fmt.Sprint(deviceCPU), "--poll-memory", "huge", "--poll-program", filepath.Join(bin, "vrouter-poll")}
	if t.hands {
		args = append(args, "--poll-cpu", fmt.Sprint(secondCPU), "--poll-hand-over") // beside the first
	}
	cmd, err := p.program(ctx, args...)
	if err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.start(cmd); err != nil {
		return err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.Contains(line, `"ready":true`) {
		return p.failure("vrouter", fmt.Errorf("it says %q", line))
	}
	return nil
}

// fill gives it its routes, and waits until all ways are known.
func (t table) fill(ctx context.Context, d *device) error {
	via := config.Via{Tunnel: farIP, Encapsulation: config.MPLSoUDP, Label: farLabel}
	for from := 0; from < t.routes; from += routesAtOnce {
		var changes []config.Change
		for i := from; i < min(from+routesAtOnce, t.routes); i++ {
			changes = append(changes, config.Change{Network: "network", Prefix: netip.PrefixFrom(destination(i), 32), Via: &via})
		}
		text, err := json.Marshal(changes)
		if err != nil {
			return err
		}
		if _, err := control.Ask(d.place.file("vrouter"), control.Request{Routes: text}); err != nil {
			return fmt.Errorf("adding routes: %w", err)
		}
	}
	d.meter = func() (reading, error) { return readPoll(d.place.file("vrouter")) }
	return await(ctx, "the way to the far end is known", func() (bool, error) {
		s, err := status(d.place.file("vrouter"))
		if err == nil && s.Poll != nil {
			d.pids = []int{s.Poll.PID}
		}
		return len(s.Unresolved) == 0, err
	})
}

func status(socket string) (s control.Status, err error) {
	reply, err := control.Ask(socket, control.Request{Get: "status"})
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(reply, &s)
}

func readPoll(socket string) (r reading, err error) {
	s, err := status(socket)
	if err != nil {
		return r, err
	}
	for _, c := range s.Poll.Cores {
		r.busy, r.packets, r.at = r.busy+c.Busy, r.packets+c.Packets, r.at+float64(c.Busy+c.Idle)
		r.stages.timed += c.Timed
		for i, name := range poll.Stages {
			r.stages.cycles[i] += c.Stages[name]
		}
	}
	if len(s.Poll.Unlinked) > 0 {
		return r, fmt.Errorf("nobody is at %v", s.Poll.Unlinked)
	}
	return r, nil
}
