package ovs

import (
	"fmt"

	"windtunnel/datapath"
	"windtunnel/result"
)

// DPDK lays containers behind Open vSwitch with DPDK: the same switch, whose ports are
// DPDK's and are polled by a thread of their own.
type DPDK struct{}

var _ datapath.Path = DPDK{}

// OverHosts says that real hosts will do.
func (DPDK) OverHosts() {}

// Name is the suite's word.
func (DPDK) Name() string { return "ovs-dpdk" }

// Says describes it.
func (DPDK) Says() string {
	return "containers behind Open vSwitch with DPDK on each node, whose thread polls their ports, plain or with its VXLAN; endpoints of raw frames alone are at vhost-user sockets"
}

// Options are the encapsulation.
func (DPDK) Options() []result.Option { return encapsulation() }

// withDPDK is Debian's own name for the daemon with DPDK, beside the one without.
const withDPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"

// Programs are those of Open vSwitch, with the other daemon.
func (DPDK) Programs() []datapath.Program {
	return append([]datapath.Program{{Name: withDPDK, Install: "apt-get install openvswitch-switch-dpdk"},
		{Name: "ovs-appctl", Install: "apt-get install openvswitch-common"}}, Path{}.Programs()[1:]...)
}

// Lay makes one layer 2 segment of all containers.
func (p DPDK) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	way, err := wrapping(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := l.FitsPacketBuffer(); err != nil {
		return datapath.Laid{}, err
	}
	return lay(l, way, false, withPolling)
}

// withPolling has the switch of a node poll its ports with DPDK. Huge pages are not
// needed where packets are copied to and from packet sockets. Buffers are each port's:
// the common pool of Open vSwitch is of 262144, which is more than plain memory should be.
func withPolling(l *datapath.Layout, s *aSwitch) {
	s.program, s.drawn, s.polls, s.vhost = withDPDK, "OVS-DPDK", true, l.Request.OnlyFrames
	s.settings = []string{"dpdk-init=true", "per-port-memory=true", `dpdk-extra="--no-huge --legacy-mem -m 1024 --no-shconf --no-pci --no-telemetry"`}
	node, _ := l.Graph.Node(s.node)
	if cpus := node.CPUs; len(cpus) > 0 {
		// The thread that polls has the last CPU, and everything else the first.
		last := cpus[len(cpus)-1]
		s.settings = append(s.settings, "dpdk-lcore-mask="+mask(cpus[0]), "pmd-cpu-mask="+mask(last))
		l.Polls(node, last, "Open vSwitch's thread")
	}
	s.portType = func(device string, mtu int) []string {
		return []string{"type=dpdk", fmt.Sprintf("options:dpdk-devargs=net_af_packet_%s,iface=%s", device, device),
			fmt.Sprintf("mtu_request=%d", mtu)}
	}
}

// mask is a CPU as Open vSwitch takes it: a hexadecimal number with its bit.
func mask(cpu int) string { return fmt.Sprintf("0x%x", uint64(1)<<cpu) }
