package vrouter_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// A switched is a bed whose node a has a port (a1) and a fabric that are of one NIC, which takes rules: AF_XDP
// with an embedded switch in front. The port a2 is none of it.
type switched struct {
	*bed
	log string // what the switch was told
}

func newSwitched(t *testing.T, encapsulation config.Encapsulation, settings ...string) switched {
	t.Helper()
	b := switched{newBed(t, encapsulation).poll(), filepath.Join(t.TempDir(), "log")}
	program := lab.PollSwitch(t, append(settings, "EMBEDDED_SWITCH_LOG="+b.log)...)
	b.a.mode[slices.Index(b.a.mode, "--poll-program")+1] = program
	for n, name := range map[*lab.Namespace]string{b.a1.Namespace: "eth0", b.b1.Namespace: "eth0", b.a.Namespace: "wire0", b.b.Namespace: "wire0"} {
		features := map[string]bool{"tx-checksum-ip-generic": false} // a NIC gets whole packets
		for feature, on := range noSegmentation {
			features[feature] = on
		}
		offload(n, name, features)
	}
	b.a.SetMTU("v-a1", innerMTU(encapsulation))
	b.a1.SetMTU("eth0", innerMTU(encapsulation))
	b.a.config.Ports[0].Driver = config.DriverXDP
	b.a.RemoveAddress("wire0", "10.0.0.1/24")
	lab.HostTap(b.a.Namespace, "vr0", wireMTU)
	b.a.Address("vr0", "10.0.0.1/24")
	b.a.config.Fabric = config.Fabric{Interface: "vr0", Address: b.a.config.Fabric.Address, Device: &config.Device{Interface: "wire0", Driver: config.DriverXDP}}
	b.a.config.Offload = config.OffloadAuto
	b.a.config.OffloadFlows = []string{"a1,icmp,10.0.1.3,10.0.1.4", "a1,udp,10.0.1.3:40000,10.0.1.4:9"}
	return b
}

// offloaded is what devices do, once they have rules for the tables as they are.
func (n *node) offloaded() (o control.Offloaded) {
	n.t.Helper()
	lab.Await(n.t, "the tables are at rest, and devices have what they take", func() bool {
		s := ask[control.Status](n, "status").Offload
		if s != nil {
			o = *s
		}
		return s != nil && s.Settled && s.Rules+len(s.Refused) > 0
	})
	return o
}

// took is how many packets of rules the account has by now.
func (n *node) took() uint64 {
	n.addsUp()
	return ask[control.Status](n, "status").Offload.Packets
}

func (b switched) told(what string) int {
	text, err := os.ReadFile(b.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.a.t.Fatal(err)
	}
	return bytes.Count(text, []byte(what))
}

// TestPollRules: what a device forwards arrives, over each encapsulation and both ways, and is in the account
// with the rest. Rules go before a change, and come back after it, and after the process was killed.
func TestPollRules(t *testing.T) {
	for _, encapsulation := range []config.Encapsulation{config.MPLSoUDP, config.MPLSoGRE, config.VXLAN} {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newSwitched(t, encapsulation)
			b.run("--lease")
			if o := b.a.offloaded(); o.Rules < 8 {
				t.Fatalf("devices have %d rules: %+v", o.Rules, o)
			}
			const pings = 20
			for range pings {
				b.a.Must("to b1", ping(b.a1, b.b1.address, 56))
			}
			if took := b.a.took(); took != 2*pings {
				t.Errorf("%d echo requests and replies were forwarded by rules, not %d", took, 2*pings)
			}
			tcp(t, b.a1, b.b1, 1<<20)
			tcp(t, b.b1, b.a1, 1<<20)
			b.a.Must("from a port that is no device's", ping(b.a2, b.b1.address, 56))
			before := b.a.addsUp()
			cores := uint64(0)
			for _, c := range ask[control.Status](b.a, "status").Poll.Cores {
				cores += c.Packets
			}
			took := b.a.took()
			if took < 700 || before.Received.Packets < took || cores < before.Received.Packets-took {
				t.Errorf("of %d packets rules took %d, and cores have seen %d", before.Received.Packets, took, cores)
			}
			rx, tx := b.a.vif("a1").Rx.Packets, b.a.vif("a1").Tx.Packets
			if rx < pings || tx < pings {
				t.Errorf("a1 has sent %d packets, and got %d", rx, tx)
			}
			b.changes(t)
			if after := b.a.addsUp(); after.Received.Packets <= before.Received.Packets || after.Dropped.Packets != before.Dropped.Packets {
				t.Errorf("%d packets received and %d dropped, before %d and %d", after.Received.Packets, after.Dropped.Packets, before.Received.Packets, before.Dropped.Packets)
			}
			b.a.end()
			if created, destroyed := b.told("created"), b.told("destroyed"); created == 0 || destroyed >= created { // those of the killed process are its devices' matter
				t.Errorf("%d rules were created, and %d destroyed", created, destroyed)
			}
		})
	}
}

// changes changes a route and kills the process, while rules are with devices.
func (b switched) changes(t *testing.T) {
	t.Helper()
	created, destroyed := b.told("created"), b.told("destroyed")
	via := b.a.config.Routes[0].Via
	b.a.Must("changing a route", b.a.changeRoutes([]config.Change{{Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.77/32"), Via: &via}}))
	if now := b.told("destroyed"); now-destroyed != created-destroyed {
		t.Errorf("of %d rules %d were withdrawn before a change", created-destroyed, now-destroyed)
	}
	b.a.Must("by software", ping(b.a1, b.b1.address, 56))
	again := b.a.offloaded()
	took := b.a.took()
	b.a.Must("by rules again", ping(b.a1, b.b1.address, 56))
	if now := b.a.took(); now != took+2 || again.Rules < 8 {
		t.Errorf("after a change %d rules took %d packets of 2", again.Rules, now-took)
	}
	pid := b.a.pollPID()
	b.a.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	lab.Await(t, "there is another process", func() bool {
		now := b.a.pollPID()
		return now != 0 && now != pid
	})
	lab.Await(t, "containers reach each other", func() bool { return ping(b.a1, b.b1.address, 56) == nil })
	took = b.a.took()
	b.a.Must("by rules of the next process", ping(b.a1, b.b1.address, 56))
	if now := b.a.took(); now != took+2 {
		t.Errorf("rules took %d packets of 2 after the process was killed", now-took)
	}
}

// TestPollRulesRefused: what a device refuses goes by software, and its reason is shown.
func TestPollRulesRefused(t *testing.T) {
	for _, c := range []struct {
		name, setting, says string
		rules               func(int) bool
	}{
		{"no room", "EMBEDDED_SWITCH_ROOM=3", "the table of the embedded switch is full", func(n int) bool { return n == 3 }},
		{"one of them", "EMBEDDED_SWITCH_REFUSES=2", "the table of the embedded switch is full", func(n int) bool { return n > 3 }},
		{"no switch", "EMBEDDED_SWITCH_ALONE=1", "the two ports are not of one embedded switch", func(n int) bool { return n == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newSwitched(t, config.MPLSoGRE, c.setting)
			b.run("--lease")
			o := b.a.offloaded()
			said := func(r control.OffloadReason) bool { return r.Why == c.says && r.Count > 0 }
			if !c.rules(o.Rules) || !slices.ContainsFunc(o.Refused, said) {
				t.Errorf("devices have %d rules: %+v", o.Rules, o)
			}
			b.a.Must("to b1", ping(b.a1, b.b1.address, 56))
			b.a.Must("to a1", ping(b.b1, b.a1.address, 56))
			tcp(t, b.a1, b.b1, 1<<18)
			b.a.addsUp()
			text, _ := b.a.tool("status")
			if !strings.Contains(text, c.says) {
				t.Errorf("status does not say so:\n%s", text)
			}
		})
	}
}

// TestPollRulesDeny: a port without a switch can still drop what its policy denies, for the same reason.
func TestPollRulesDeny(t *testing.T) {
	b := newSwitched(t, config.MPLSoGRE, "EMBEDDED_SWITCH_ALONE=1")
	b.a.config.Policies = []config.Policy{{Name: "no-udp", Default: config.Allow, Rules: []config.Rule{
		{Direction: "out", Protocol: "udp", Action: config.Deny}, {Direction: "in", Protocol: "udp", Action: config.Deny}}}}
	b.a.config.Ports[0].Flow.Policy = "no-udp"
	b.run("--lease")
	if o := b.a.offloaded(); o.Rules == 0 {
		t.Fatalf("no rule drops: %+v", o)
	}
	b.a.Must("what is allowed", ping(b.a1, b.b1.address, 56))
	conn := udpSocket(t, b.a1, 40000)
	const sent = 50
	for range sent {
		_, err := conn.WriteToUDP([]byte("denied"), &net.UDPAddr{IP: b.b1.address.AsSlice(), Port: 9})
		b.a.Must("sending", err)
	}
	lab.Await(t, "the device has dropped all of them", func() bool { return b.a.took() == sent })
	if s := b.a.addsUp(); s.Drops["policy_denied"] != sent || s.Vifs[0].Drops["policy_denied"] != sent {
		t.Errorf("policy_denied: %d in all, %d of a1, not %d", s.Drops["policy_denied"], s.Vifs[0].Drops["policy_denied"], sent)
	}
}

// TestOffloadInKernelMode: devices are asked to run the fast path and to take filters, what they say is shown, and packets go on
// as they did.
func TestOffloadInKernelMode(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.config.Offload, b.a.config.OffloadFlows = config.OffloadAuto, []string{"a1,icmp,10.0.1.3,10.0.1.4"}
	b.a1.SetMTU("eth0", innerMTU(config.MPLSoUDP))
	b.asFast(config.FastOn)
	b.run("--lease")
	var o *control.Offloaded
	lab.Await(t, "devices were asked", func() bool {
		o = ask[control.Status](b.a, "status").Offload
		return o != nil && o.Settled && len(o.XDP) == 3 && len(o.Ports) == 3
	})
	for i, p := range o.XDP {
		if p.Takes || !strings.Contains(p.Why, "loading XDP into the device") && !strings.Contains(p.Why, "its fast path is off") {
			t.Errorf("XDP in the device of %s: %+v", p.Port, p)
		}
		if o.Ports[i].Takes || !strings.Contains(o.Ports[i].Why, "hw-tc-offload is off") {
			t.Errorf("filters of tc: %+v", o.Ports[i])
		}
	}
	if !strings.Contains(o.XDP[0].Why, "loading XDP into the device") {
		t.Errorf("the fabric was not tried: %+v", o.XDP[0])
	}
	b.a.Must("to b1", ping(b.a1, b.b1.address, 56))
	b.a.addsUp()
	b.a.config.Offload, b.a.config.OffloadFlows = config.OffloadOff, nil
	b.a.Must("switching it off", b.a.apply())
	if s := ask[control.Status](b.a, "status"); s.Offload != nil {
		t.Errorf("it is off, and the status has %+v", s.Offload)
	}
}

// TestPollRulesNobody: where no device takes rules, all goes by software, and the status says why.
func TestPollRulesNobody(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).poll()
	b.a.config.Offload = config.OffloadAuto
	b.a.config.Ports[1].Driver = config.DriverXDP
	offload(b.a2.Namespace, "eth0", noSegmentation)
	b.run("--lease")
	b.a.Must("to b1", ping(b.a1, b.b1.address, 56))
	var o control.Offloaded
	lab.Await(t, "devices were asked", func() bool { o = *ask[control.Status](b.a, "status").Offload; return len(o.Ports) == 3 })
	for i, says := range []string{"is no device of DPDK's", "is no device of DPDK's", "its driver takes no rules"} {
		if o.Ports[i].Takes || !strings.Contains(o.Ports[i].Why, says) {
			t.Errorf("%+v does not say %q", o.Ports[i], says)
		}
	}
	if o.Rules != 0 || o.Packets != 0 {
		t.Errorf("%+v", o)
	}
	b.a.config.OffloadFlows = []string{"a1,sctp,10.0.1.3,10.0.1.4"}
	if err := b.a.apply(); err == nil || !strings.Contains(err.Error(), "offload_flows[0]") {
		t.Errorf("a flow that is none: %v", err)
	}
	b.a.config.Offload, b.a.config.OffloadFlows = "", nil
	b.a.Must("switching it off", b.a.apply())
	if s := ask[control.Status](b.a, "status"); s.Offload != nil {
		t.Errorf("it is off, and the status has %+v", fmt.Sprint(s.Offload))
	}
}
