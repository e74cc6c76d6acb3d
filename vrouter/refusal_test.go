package vrouter_test

import (
	"fmt"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// TestMissingInterface: a port whose interface is gone keeps no configuration from being applied, and no
// vRouter from starting. One that is new must have its interface.
func TestMissingInterface(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	b.a.Delete("v-a2")
	missing := func(when string) {
		t.Helper()
		lab.Await(t, "a2 is missing "+when, func() bool { return strings.Join(ask[control.Status](b.a, "status").Missing, ",") == "a2" })
		if err := ping(b.a1, b.b1.address, 56); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	missing("while it runs")
	if out, code := b.a.tool("apply", b.a.write(), "--dry-run"); code != 0 {
		t.Errorf("the dry run: exit %d: %s", code, out)
	}
	b.a.config.Networks[0].MSSClamp = new(bool)
	if out, code := b.a.tool("apply", b.a.write()); code != 0 || !strings.Contains(out, "port a2: its interface v-a2 is not there") {
		t.Errorf("exit %d: %s", code, out)
	}
	missing("after apply")
	b.a.end()
	b.a.run("--lease")
	if fmt.Sprint(b.a.ready["missing"]) != "[a2]" {
		t.Errorf("at the start it says %v", b.a.ready)
	}
	lab.Await(t, "the tunnel is resolved", b.a.resolved)
	missing("after the start")
	b.a.config.Ports[1].Interface = "v-nix"
	if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), "make the veth first") {
		t.Errorf("a port that is new: %v", err)
	}
}

// TestPortRefusals: interfaces and addresses that no port can have are refused in a dry run.
func TestPortRefusals(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.run("--lease")
	good := b.a.config.Ports
	for want, change := range map[string]func(*config.Port){
		"is no Ethernet interface":        func(p *config.Port) { p.Interface = "lo" },
		"is the fabric's own MAC address": func(p *config.Port) { p.MAC = config.MAC(b.a.Link("wire0").Attrs().HardwareAddr) },
		"is every network's gateway's":    func(p *config.Port) { p.MAC = config.GatewayMAC },
		"there is no interface \"v-nix\"": func(p *config.Port) { p.Interface = "v-nix" },
	} {
		b.a.config.Ports = append([]config.Port{}, good...)
		change(&b.a.config.Ports[1])
		if out, code := b.a.tool("apply", b.a.write(), "--dry-run"); code != 2 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d: %s", want, code, out)
		}
	}
}

// TestRefusedByDevice: what a device refuses is refused while the configuration before is in force, and the
// error says what it would take.
func TestRefusedByDevice(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	for _, n := range []*node{b.a, b.b} {
		n.SetMTU("wire0", 9000)
	}
	lab.Await(t, "the MTU is in the tables", func() bool {
		for _, n := range ask[[]control.Nexthop](b.a, "nh") {
			if n.Type == "tunnel" {
				return n.MTU == 9000-config.Overhead[config.MPLSoUDP]
			}
		}
		return false
	})
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Fatal(err)
	}
	before, status := ask[[]control.Vif](b.a, "vif"), ask[control.Status](b.a, "status")
	good := b.a.config
	for i := range 4 {
		b.a.config.Fabric.Receive = config.ReceiveXDP
		b.a.config.Ports = append([]config.Port{}, good.Ports...)
		b.a.config.Ports[0].MAC[5] = byte(0x40 + i)
		if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), "at most 3506") || strings.Contains(err.Error(), "\n") {
			t.Errorf("it was applied, or is not refused in one line: %v", err)
		}
		if err := ping(b.a1, b.b1.address, 56); err != nil {
			t.Error(err)
		}
	}
	after := ask[[]control.Vif](b.a, "vif")
	if after[0].MAC != before[0].MAC || after[0].Rx.Packets < before[0].Rx.Packets+4 {
		t.Errorf("the port was %+v, and is %+v", before[0], after[0])
	}
	if s := ask[control.Status](b.a, "status"); s.Changes != status.Changes || s.Receive != status.Receive {
		t.Errorf("the status is %+v", s)
	}
	if lost := b.a.addsUp().Drops; lost["spoofed_mac"] != 0 {
		t.Errorf("drops: %v", lost)
	}
}

// TestOtherName: a vRouter with a name of its own takes the configuration that it was started with, and one
// that has its name; and a limit that is named but the default is no other limit.
func TestOtherName(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.run("--lease", "--name", "other")
	if s := ask[control.Status](b.a, "status"); s.Name != "other" {
		t.Errorf("its name is %s", s.Name)
	}
	if out, code := b.a.tool("apply", b.a.write(), "--dry-run", "--exit-code"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	b.a.config.Limits = config.Limits{Routes: config.DefaultRoutes, Flows: config.DefaultFlows}
	for _, name := range []string{b.a.config.Name, "other"} {
		b.a.config.Name = name
		if err := b.a.apply(); err != nil {
			t.Error(err)
		}
	}
	b.a.config.Name = "third"
	if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), `the configuration is of "third", this vRouter is "other"`) {
		t.Errorf("another name: %v", err)
	}
}
