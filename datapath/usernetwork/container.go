package usernetwork

import (
	"cmp"
	"fmt"
	"net/netip"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Container lays containers in virtual machines, whose ports the machines publish: what Docker Toolbox and Docker Desktop are
// on systems that have no containers of their own, without an engine.
type Container struct{}

var _ datapath.Path = Container{}

// OverHosts says that real hosts will do.
func (Container) OverHosts() {}

// Name is the suite's word.
func (Container) Name() string { return "vm-published-port" }

// Says describes it.
func (Container) Says() string {
	return "a server in a container of a virtual machine, behind a port that the machine publishes, by a host-only network or user-mode NAT"
}

const (
	optionNetwork   = "network"
	networkHostOnly = "host-only"

	factPublishing = "publishing"
	// publishing says what it is, since no engine makes it.
	publishing = "a network namespace of the guest's behind a bridge and rules of nf_tables (DNAT, masquerading), as Docker has it without its filters; no engine runs there"
)

// Options are the network of the machine, and where its ports begin.
func (Container) Options() []result.Option {
	return []result.Option{{
		Name: optionPort, Type: result.Count, Min: 1, Max: 65000, Default: int64(firstPort),
		Says: "the first port that leads into a container",
	}, {
		Name: optionNetwork, Type: result.Word, Words: []string{networkHostOnly, byQEMU}, Default: networkHostOnly,
		Says: "how a machine is reached: by its own address on a tap, which its node alone has (as Docker Toolbox), or by a port of its node's (as Docker Desktop), by QEMU's user-mode NAT",
	}}
}

// containers are where a guest's container is: the first is what Docker takes for its default bridge, and others are for hosts that
// have addresses of it. The host numbers there are Docker's: of the bridge, and of the first container.
var containers = []netip.Prefix{netip.MustParsePrefix("172.17.0.0/16"), netip.MustParsePrefix("172.29.0.0/16"), netip.MustParsePrefix("10.117.0.0/16")}

const (
	containerBridge = 1
	containerFirst  = 2
)

// hostOnly is the network of the i-th machine and its node; the first is VirtualBox's, and the source's (002, "Windows").
func hostOnly(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(99 + i), 0}), 24)
}

// The host numbers in it: of the node, and of the machine.
const (
	hostOnlyNode    = 1
	hostOnlyMachine = 100
	maxHostOnly     = 100 // machines
)

// Lay gives each machine its network, and puts a container into it.
func (p Container) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	by := cmp.Or(r.Options.Text(optionNetwork), networkHostOnly)
	if err := p.check(l, by); err != nil {
		return datapath.Laid{}, err
	}
	l.Fact(factPublishing, publishing)
	subnet, err := l.Apart(containers...)
	if err != nil {
		return datapath.Laid{}, err
	}
	if by != networkHostOnly {
		return lay(l, by, func(machine string, ports []int) { contain(l, subnet, machine, ports) })
	}
	return p.hostOnly(l, subnet)
}

// check refuses what does not come to a container in a machine.
func (Container) check(l *datapath.Layout, by string) error {
	r := l.Request
	switch {
	case r.Frames:
		return l.Errorf("raw frames do not pass rules that rewrite addresses: take the traffic stream, datagram or ping")
	case r.Segmentation != datapath.SegmentationFound || r.Checksum == datapath.ChecksumSoftware:
		return l.Errorf("the bridge and the container's interface are made in the guest, with the offloads that its kernel gives them: take `segmentation: as-found`, without `checksum`")
	case by != networkHostOnly:
		return check(l)
	case l.Joined():
		return l.Errorf("its ends are on two nodes, and a host-only network joins a machine to its own: write both on one node, or take `network: qemu`")
	}
	if err := ends(l); err != nil {
		return err
	}
	all := machines(r)
	if len(all) > maxHostOnly {
		return l.Errorf("%d machines are more than the %d that there are host-only networks for", len(all), maxHostOnly)
	}
	for _, pair := range r.Pairs {
		if pair.From.VM != "" && (pair.To.VM != "" || len(all) > 1) {
			return l.Errorf("%s sends to %s, and each machine has a host-only network of its own: let one machine send to its node, or take `network: qemu`",
				pair.From.Name(), pair.To.Name())
		}
	}
	return nil
}

// contain puts a container of a subnet into a machine that is laid.
func contain(l *datapath.Layout, subnet netip.Prefix, machine string, ports []int) {
	for i := range l.Graph.VMs {
		if l.Graph.VMs[i].Name == machine {
			l.Graph.VMs[i].Container = &testbed.GuestContainer{
				Subnet: subnet.String(), Gateway: datapath.Host(subnet, containerBridge).String(),
				Address: datapath.Host(subnet, containerFirst).String(), Publish: ports,
			}
		}
	}
}

// hostOnly joins each machine to its node by a tap that both have an address on.
func (Container) hostOnly(l *datapath.Layout, inner netip.Prefix) (datapath.Laid, error) {
	all := machines(l.Request)
	network := map[string]netip.Prefix{}
	for i, place := range all {
		network[place.VM] = hostOnly(i)
	}
	forward, err := publish(l, func(pair result.Pair) netip.Addr {
		if pair.To.VM == "" {
			return datapath.Host(network[pair.From.VM], hostOnlyNode)
		}
		return datapath.Host(network[pair.To.VM], hostOnlyMachine)
	})
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, place := range all {
		subnet := network[place.VM]
		outside := l.Container(place, subnet, datapath.Host(subnet, hostOnlyMachine), l.Request.Wire.MTU)
		outside.Addresses = []string{datapath.Within(subnet, datapath.Host(subnet, hostOnlyNode))}
		contain(l, inner, place.VM, forward[place.VM])
	}
	l.Fact("host-only network", fmt.Sprint(network[all[0].VM]))
	return l.Finish(l.Request.Wire.MTU)
}
