//go:build linux

package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/measure/system"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// fakeMachine is a machine whose first CPU is busy for half of the time.
type fakeMachine struct{ began time.Time }

func (fakeMachine) Facts() system.Facts {
	return system.Facts{Name: "Windows 10.0.1", Release: "10.0.1", CPUs: 2, MemoryBytes: 4 << 30, Identity: "windows x y"}
}

func (m fakeMachine) Times() ([]system.Times, error) {
	t := time.Since(m.began)
	return []system.Times{{Idle: t / 2, User: t / 2}, {Idle: t}}, nil
}

func (m fakeMachine) Link(int) (system.Counters, error) {
	return system.Counters{RxBytes: uint64(time.Since(m.began)), BitsPerSecond: 1e9}, nil
}

func (fakeMachine) MemoryInUse() (uint64, error) { return 1 << 30, nil }

// plainAgent starts one on pipes and greets it.
func plainAgent(t *testing.T, config PlainConfig) *peer {
	t.Helper()
	config.Name, config.Machine = "a", fakeMachine{time.Now()}
	return greeted(t, "agent", func(in io.Reader, out io.Writer) error {
		return ServePlain(context.Background(), in, out, config)
	})
}

// refusedBy is what an agent answers that it will not do.
func refusedBy(t *testing.T, p *peer, r proto.Request) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := p.ask(ctx, r)
	if err == nil {
		t.Fatalf("%s was not refused", r.Do)
	}
	return err.Error()
}

// TestAPlainAgentMeasures has both ends of a pair in it, over loopback.
func TestAPlainAgentMeasures(t *testing.T) {
	p := plainAgent(t, PlainConfig{})
	if place := p.hello.Place; place == nil || place.Machine != "windows x y" || len(place.CPUs) != 2 {
		t.Fatalf("it tells %+v", place)
	}
	graph := testbed.Graph{Cell: "x", Nodes: []testbed.Node{{Name: "a", Exec: []string{"ssh", "h"}, Devices: []string{"lo"}}}}
	for _, do := range []string{proto.DoPlace, proto.DoApply, proto.DoVerify} {
		ask(t, p, proto.Request{Do: do, Cell: "x", Graph: &graph})
	}
	probe := ask(t, p, proto.Request{Do: proto.DoProbe, Cell: "x", Place: "a", Probe: &proto.Probe{Role: traffic.Receive, Address: "127.0.0.1", MTU: 1500}}).Address
	ask(t, p, proto.Request{Do: proto.DoProbe, Cell: "x", Place: "a", Probe: &proto.Probe{Role: traffic.Send, Address: probe, MTU: 1500}})
	address := ask(t, p, proto.Request{Do: proto.DoPrepare, Cell: "x", Place: "a", Order: order(traffic.Receive, "127.0.0.1")}).Address
	ask(t, p, proto.Request{Do: proto.DoPrepare, Cell: "x", Place: "a", Order: order(traffic.Send, address)})
	ask(t, p, proto.Request{Do: proto.DoStart, Cell: "x", Start: &proto.Start{InSeconds: 0.02, WarmUpSeconds: 0.05, WindowSeconds: 0.3, Profile: true}})
	trial := ask(t, p, proto.Request{Do: proto.DoResult, Cell: "x"}).Trial
	if trial == nil || len(trial.Ends) != 2 || trial.Profile == nil || trial.Profile.Missing == "" {
		t.Fatalf("%+v", trial)
	}
	for _, end := range trial.Ends {
		if end.Error != "" || end.End.Bytes == 0 {
			t.Errorf("%+v", end)
		}
	}
	s := trial.Sample
	if len(s.CPUs) != 2 || s.CPUSource != system.Source || s.CPUs[0].Busy < 0.1 || s.CPUs[1].Busy > 0.05 || len(s.Links) != 1 || s.Links[0].RxBytes == 0 || s.Machine != "windows x y" {
		t.Errorf("%+v", s)
	}
	ask(t, p, proto.Request{Do: proto.DoStop, Cell: "x"})
	ask(t, p, proto.Request{Do: proto.DoApply, Cell: "x", Graph: &testbed.Graph{Cell: "x"}})
	if why := refusedBy(t, p, proto.Request{Do: proto.DoResult, Cell: "x"}); !strings.Contains(why, "no cell") {
		t.Error(why)
	}
}

// TestAPlainAgentBuildsNothing, and says so by name.
func TestAPlainAgentBuildsNothing(t *testing.T) {
	p := plainAgent(t, PlainConfig{})
	here := testbed.Node{Name: "a", Exec: []string{"ssh", "h"}}
	for name, g := range map[string]testbed.Graph{
		"a node that is made": {Cell: "x", Nodes: []testbed.Node{{Name: "a", CPUs: []int{0}}}},
		"a container":         {Cell: "x", Nodes: []testbed.Node{here}, Containers: []testbed.Container{{Name: "c", Node: "a"}}},
		"a bridge":            {Cell: "x", Nodes: []testbed.Node{here}, Bridges: []testbed.Bridge{{Name: "s", Node: "a"}}},
	} {
		if why := refusedBy(t, p, proto.Request{Do: proto.DoApply, Cell: "x", Graph: &g}); !strings.Contains(why, "Windows 10.0.1, where nothing is built") {
			t.Errorf("%s: %s", name, why)
		}
	}
	gone := testbed.Graph{Cell: "x", Nodes: []testbed.Node{{Name: "a", Exec: here.Exec, Devices: []string{"none9"}}}}
	if why := refusedBy(t, p, proto.Request{Do: proto.DoVerify, Cell: "x", Graph: &gone}); !strings.Contains(why, "no interface none9") {
		t.Error(why)
	}
	if why := refusedBy(t, p, proto.Request{Do: proto.DoSurvey}); !strings.Contains(why, "does not know") {
		t.Error(why)
	}
}

// TestAPlainAgentTellsWhatItsHostCanDo: traffic, and nothing that Linux is needed for.
func TestAPlainAgentTellsWhatItsHostCanDo(t *testing.T) {
	p := plainAgent(t, PlainConfig{Way: &PlainWay{}})
	h := ask(t, p, proto.Request{Do: proto.DoLook, Programs: []string{"iperf3"}, Engine: "/var/run/docker.sock"}).Host
	if h == nil || h.System != "Windows 10.0.1" || h.Missing[testbed.FeatureBridge] == "" || h.Programs["iperf3"] == "" || h.NoEngine == "" {
		t.Fatalf("%+v", h)
	}
	if err := checkHost(h); err != nil || h.NIC != nil || !strings.Contains(h.NoNIC, "no data address was given") {
		t.Errorf("%v, %+v, %s", err, h.NIC, h.NoNIC)
	}
}

func TestWaysOfPlainHosts(t *testing.T) {
	here, err := addressesHere(system.Device, func(net.Interface) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if len(here) == 0 {
		t.Skip("needs an interface with an address, beside loopback")
	}
	own := netip.MustParsePrefix(here[0].Prefix).Addr()
	other := proto.Address{Device: "mgmt", Prefix: "198.51.100.7/24"}
	addresses := append(here[:1:1], other)
	mgmt := netip.MustParsePrefix(other.Prefix).Addr()
	for name, c := range map[string]struct {
		way  PlainWay
		says string
	}{
		"its own":             {PlainWay{Address: own, Near: mgmt}, ""},
		"toward itself":       {PlainWay{Toward: own, Near: mgmt}, ""},
		"none":                {PlainWay{}, "no data address"},
		"another's":           {PlainWay{Address: netip.MustParseAddr("203.0.113.9")}, "no address 203.0.113.9"},
		"the control's":       {PlainWay{Address: own, Near: own}, "carries the control connection"},
		"a device that ended": {PlainWay{Address: mgmt}, "no interface mgmt"},
	} {
		nic, err := c.way.find(addresses, fakeMachine{})
		if c.says == "" && (err != nil || nic.Device != here[0].Device || nic.BitsPerSecond != 1e9) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v, %v", name, nic, err)
		}
	}
}

// TestADamagedProgramServesNobody, and does not stay either.
func TestADamagedProgramServesNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), broughtPrefix+"1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := ServePlain(context.Background(), strings.NewReader(""), io.Discard, PlainConfig{Remove: dir, Sum: "00", Machine: fakeMachine{}})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
}

// TestAbandonedProgramsAreRemoved, and neither new ones nor what is not ours.
func TestAbandonedProgramsAreRemoved(t *testing.T) {
	home := t.TempDir()
	long := time.Now().Add(-2 * abandoned)
	for name, old := range map[string]bool{broughtPrefix + "old": true, broughtPrefix + "new": false, "other": true} {
		dir := filepath.Join(home, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, broughtWindows), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if old {
			if err := os.Chtimes(dir, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeAbandoned(filepath.Join(home, broughtPrefix+"own"))
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 2 || entries[0].Name() != broughtPrefix+"new" || entries[1].Name() != "other" {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestOneHolderAtATime, who is named, and whose end frees the machine.
func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := holdFile(path, "first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holdFile(path, "second"); err == nil || !strings.Contains(err.Error(), "(first); one run at a time") {
		t.Errorf("%v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = holdFile(path, "third"); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
