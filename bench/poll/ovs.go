package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// begun is what instants are told from.
var begun = time.Now()

// now is in seconds.
func now() float64 { return time.Since(begun).Seconds() }

const (
	vswitchd  = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
	inside    = "br0"    // with the sender's port and the tunnel
	below     = "br-phy" // with the fabric's port, and the node's address
	inName    = "in"     // ports' names are those of their sockets
	outName   = "out"
	tunnel    = "vxlan0"
	ovsMemory = 512 // MiB of huge pages
)

// newOVS starts Open vSwitch with DPDK, which wraps all that the sender's port brings in VXLAN. Its settings are
// its own defaults; its neighbour is told, as nobody answers ARP here.
func newOVS(ctx context.Context, dir string) (d *device, err error) {
	p, err := newPlace(dir, ovsName)
	d = &device{name: ovsName, place: p, in: p.file(inName), out: p.file(outName)}
	if err != nil {
		return d, err
	}
	if err := p.inside(ctx, "ovsdb-tool", "create", p.file("conf.db")); err != nil {
		return d, err
	}
	database, err := p.program(ctx, "ovsdb-server", p.file("conf.db"), "--remote=punix:"+p.file("db"), "--unixctl="+p.file("dbctl"), "-vconsole:warn", "-vsyslog:off", "-vfile:off")
	if err == nil {
		err = p.start(database)
	}
	if err != nil {
		return d, err
	}
	o := &openVSwitch{ctx, p}
	if err := o.set("init", "--", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true", "other_config:per-port-memory=true",
		fmt.Sprintf(`other_config:dpdk-extra="--in-memory -m %d --no-pci --no-telemetry"`, ovsMemory),
		fmt.Sprintf("other_config:dpdk-lcore-mask=0x%x", 1<<loadCPU), fmt.Sprintf("other_config:pmd-cpu-mask=0x%x", 1<<deviceCPU)); err != nil {
		return d, err
	}
	daemon, err := p.program(ctx, vswitchd, "unix:"+p.file("db"), "--unixctl="+p.file("ctl"), "-vconsole:warn", "-vsyslog:off", "-vfile:off")
	if err == nil {
		err = p.start(daemon)
	}
	if err != nil {
		return d, err
	}
	d.pids = []int{daemon.Process.Pid}
	d.meter = o.read
	return d, o.connect()
}

type openVSwitch struct {
	ctx   context.Context
	place *place
}

// set changes the database.
func (o *openVSwitch) set(args ...string) error {
	wait := []string{"ovs-vsctl", "--db=unix:" + o.place.file("db"), "--timeout=20", "--retry"}
	if args[0] == "init" {
		wait = append(wait, "--no-wait")
	}
	return o.place.inside(o.ctx, append(wait, args...)...)
}

func (o *openVSwitch) tell(args ...string) (string, error) {
	out, err := exec.CommandContext(o.ctx, "ovs-appctl", append([]string{"--target=" + o.place.file("ctl")}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ovs-appctl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// connect makes the bridges, and tells where the sender's frames go.
func (o *openVSwitch) connect() error {
	if err := o.set("add-br", inside, "--", "set", "bridge", inside, "datapath_type=netdev", "--",
		"add-br", below, "--", "set", "bridge", below, "datapath_type=netdev", "--",
		"add-port", inside, inName, "--", "set", "interface", inName, "type=dpdkvhostuser", "--",
		"add-port", below, outName, "--", "set", "interface", outName, "type=dpdkvhostuser", "--",
		"add-port", inside, tunnel, "--", "set", "interface", tunnel, "type=vxlan", "options:local_ip="+nearIP.String(), "options:remote_ip="+farIP.String(),
		fmt.Sprintf("options:key=%d", farVNI)); err != nil {
		return err
	}
	for _, args := range [][]string{{"ip", "address", "add", nearIP.String() + "/24", "dev", below}, {"ip", "link", "set", below, "up"}} {
		if err := o.place.inside(o.ctx, args...); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"tnl/neigh/set", below, farIP.String(), farMAC.String()},
		{"fdb/add", inside, tunnel, "0", macText(gatewayMAC)},
		{"fdb/add", below, outName, "0", farMAC.String()},
	} {
		if _, err := o.tell(args...); err != nil {
			return err
		}
	}
	return await(o.ctx, "Open vSwitch has a way to the far end", func() (bool, error) {
		routes, err := o.tell("ovs/route/show")
		return strings.Contains(routes, below), err
	})
}

func macText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// read: of its thread's rounds over all ports, those that found packets are busy, and the others idle
// (pmd_perf_end_iteration in lib/dpif-netdev-perf.c).
func (o *openVSwitch) read() (r reading, err error) {
	text, err := o.tell("dpif-netdev/pmd-stats-show", "-pmd", fmt.Sprint(deviceCPU))
	if err != nil {
		return r, err
	}
	var idle uint64
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		for want, into := range map[string]*uint64{"packets received": &r.packets, "processing cycles": &r.busy, "idle cycles": &idle} {
			if name == want {
				if _, err := fmt.Sscan(value, into); err != nil {
					return r, fmt.Errorf("ovs-vswitchd says %q: %w", line, err)
				}
			}
		}
	}
	if r.packets == 0 || r.busy == 0 {
		return r, fmt.Errorf("ovs-vswitchd does not tell its cycles: %q", text)
	}
	r.at = float64(r.busy + idle)
	return r, nil
}
