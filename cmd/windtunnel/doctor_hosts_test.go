//go:build linux

package main

import (
	"slices"
	"testing"

	"windtunnel/agent/proto"
	"windtunnel/agent/ssh"
	"windtunnel/testbed"
)

// TestWhatNotAllHostsHave: of what hosts differ in, those are named that lack it; an emulator of another architecture is no lack.
func TestWhatNotAllHostsHave(t *testing.T) {
	host := func(node, architecture string, missing, programs, unfit []string) *remote {
		each := func(names []string) map[string]string {
			all := map[string]string{}
			for _, name := range names {
				all[name] = "why"
			}
			return all
		}
		return &remote{host: ssh.Host{Node: node}, system: ssh.System{OS: "linux", Architecture: architecture}, found: proto.Host{CPUs: []int{0},
			Missing: each(missing), Programs: each(programs), Unfit: each(unfit), Engine: &testbed.HostEngine{}}}
	}
	kvm := []string{testbed.FeatureKVM}
	a := host("a", "amd64", kvm, []string{"qemu-system-aarch64"}, nil)
	b := host("b", "arm64", kvm, []string{"qemu-system-x86_64", "dpdk-testpmd"}, nil)
	c := host("c", "amd64", kvm, []string{"qemu-system-aarch64", "qemu-system-x86_64", "dpdk-testpmd"}, []string{"frame-poll"})
	c.found.Engine = nil
	windows := &remote{host: ssh.Host{Node: "w"}, found: proto.Host{System: "Windows", CPUs: []int{0}}}
	want := []string{"a container engine (missing on c)", "dpdk-testpmd (missing on b and c)", "frame-poll (missing on c)", "qemu-system-x86_64 (missing on c)"}
	if got := (remotes{a, b, c, windows, {}}).unequal(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (remotes{a}).unequal(); len(got) > 0 {
		t.Errorf("%q of one host", got)
	}
}

// TestDescribeMTU: whether a driver can set what a suite wants is known before a run.
func TestDescribeMTU(t *testing.T) {
	for want, nic := range map[string]testbed.NIC{
		"MTU 1500":                 {MTU: 1500},
		"MTU 1500 of at most 9000": {MTU: 1500, MostMTU: 9000},
	} {
		if got := describeMTU(nic); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	for want, nic := range map[string]testbed.NIC{
		"9000, which a run sets and puts back":             {MTU: 1500, MostMTU: 9000},
		"9000, which its driver cannot set (at most 1500)": {MTU: 1500, MostMTU: 1500},
	} {
		if got := wantedMTU(nic, 9000); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestDescribeQueues: what cells may have of an interface's queues is known before a run.
func TestDescribeQueues(t *testing.T) {
	for want, nic := range map[string]testbed.NIC{
		"": {Table: 128},
		", receive queues: 2, which its driver lets nobody set, flows spread by the kernel (RPS)": {Queues: 2},
		", receive queues: 1 of at most 4, flows spread by the kernel (RPS)":                      {Queues: 1, Channels: testbed.Channels{Receive: 1, Send: 1, MostReceive: 4, MostSend: 4}},
		", receive queues: 1, flows spread by the kernel (RPS)":                                   {Queues: 1, Channels: testbed.Channels{Combined: 1, MostCombined: 1}},
		", receive queues: 8 of at most 8, by destination, too (VMQ), flows spread by its driver": {Queues: 8, Channels: testbed.Channels{Combined: 8, MostCombined: 8}, Table: 128, Steers: true},
		", receive queues: 2, which its driver lets nobody set, flows spread by its driver":       {Queues: 2, Table: 128},
	} {
		if got := describeQueues(nic); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
