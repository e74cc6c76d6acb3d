package datapath

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"windtunnel/result"
	"windtunnel/testbed"
)

// The options of every path whose containers are a container engine's.
const (
	OptionCPUs   = "cpus" // a limit of their CPU time
	optionImage  = "image"
	optionMemory = "memory"
)

// EngineOptions are what every such path takes: what `docker run` takes by the same names.
func EngineOptions() []result.Option {
	return []result.Option{{
		Name: optionImage, Type: result.Word,
		Says: "the containers' image: a file that `docker save` wrote, by its path; made on the spot if left out",
	}, {
		Name: OptionCPUs, Type: result.Word,
		Says: "how many CPUs a container may use (0.5); no limit if left out",
	}, {
		Name: optionMemory, Type: result.Size, Min: 32 << 20,
		Says: "how much memory a container may use (256MiB); no limit if left out",
	}}
}

// EnginePrograms are those that an engine of the testbed's own is made of.
func EnginePrograms() []Program {
	const install = "apt-get install docker.io"
	return []Program{
		{Name: "dockerd", Install: install}, {Name: "containerd", Install: install}, {Name: "runc", Install: install},
		{Name: "iptables", Install: "apt-get install iptables"}, {Name: "mount", Install: "apt-get install mount"},
	}
}

// EngineSettings are what an engine of the testbed's own is started with.
type EngineSettings struct {
	Proxy bool // the userland proxy
	MTU   int  // of the default bridge
}

// startEngine has the engine begin in namespaces of its own: what it would write into the host's /run
// and /etc (sockets of its shims, a lock of iptables, a key) it writes into file systems that end with
// it. Its folder has a short path there, since paths of sockets may have 107 bytes (unix(7)).
const startEngine = `set -e
mount -t proc proc /proc
mount --bind "$1" /mnt
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/etc /run/etc.work /mnt/root
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/etc.work overlay /etc
shift
exec dockerd --config-file=/mnt/daemon.json --data-root=/mnt/root --host=unix:///mnt/docker.sock "$@"
`

// bridgeSubnet is the default bridge's, the one that Docker takes first by itself.
const bridgeSubnet = "172.17.0.1/16"

// Engine adds an engine to a node, or names the one that a real host has. It returns it, valid until the next piece
// is added.
func (l *Layout) Engine(node string, settings EngineSettings) *testbed.Engine {
	name := "docker-" + node
	if n, _ := l.Graph.Node(node); n.InPlace {
		l.Graph.Engines = append(l.Graph.Engines, testbed.Engine{Name: "engine-" + node, Node: node, Socket: hostEngine(n).Socket})
		return &l.Graph.Engines[len(l.Graph.Engines)-1]
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
		Name: name, Node: node, Program: "sh", Alone: true, Ends: testbed.EndsByKill,
		Args: []string{"{dir}/start", "{dir}", "--bip=" + bridgeSubnet, "--mtu=" + strconv.Itoa(settings.MTU),
			"--userland-proxy=" + strconv.FormatBool(settings.Proxy), "--exec-opt=native.cgroupdriver=cgroupfs"},
		Files: map[string]string{"start": startEngine, "daemon.json": "{}\n"},
		Up:    testbed.Up{Socket: "{root}/mnt/docker.sock"}, Socket: "{root}/mnt/docker.sock",
	})
	l.Graph.Engines = append(l.Graph.Engines, testbed.Engine{Name: "engine-" + node, Node: node, Daemon: name})
	return &l.Graph.Engines[len(l.Graph.Engines)-1]
}

// Engines adds an engine to each node that has containers among the endpoints, and those containers,
// which shape makes what the path needs: i counts them from 0 over all nodes. Raw frames are refused:
// where they enter an engine's container nobody has XDP or GRO at the other end.
func (l *Layout) Engines(settings EngineSettings, shape func(*testbed.Engine, *testbed.EngineContainer, int)) error {
	if l.Request.Frames {
		return l.Errorf("raw frames do not enter an engine's containers: take the traffic stream, datagram or ping, or the path bridge")
	}
	if err := l.noVMs(); err != nil {
		return err
	}
	limits, err := l.limits()
	if err != nil {
		return err
	}
	for _, node := range l.Graph.Nodes {
		var engine *testbed.Engine
		i := -1
		for _, place := range l.places() {
			if place.Container == "" {
				continue
			}
			if i++; i >= maxContainers {
				return l.Errorf("more than %d containers are more than its subnet has room for", maxContainers)
			}
			if place.Node != node.Name {
				continue
			}
			if engine == nil {
				engine = l.Engine(node.Name, settings)
			}
			c := limits
			c.Name = place.Container
			shape(engine, &c, i)
			engine.Containers = append(engine.Containers, c)
		}
	}
	if len(l.Graph.Engines) == 0 {
		return l.Errorf("no end is a container, and it is about those of an engine: write {container: NAME, on: NODE}, or take the path wire")
	}
	return nil
}

// limits is a container as the options have it.
func (l *Layout) limits() (testbed.EngineContainer, error) {
	c := testbed.EngineContainer{Image: l.Request.Options.Text(optionImage), MemoryBytes: l.Request.Options.Int(optionMemory)}
	if text := l.Request.Options.Text(OptionCPUs); text != "" {
		cpus, err := strconv.ParseFloat(text, 64)
		if err != nil || !(cpus >= 0.01 && cpus <= 4096) { // the least that Docker takes
			return c, l.Errorf("`cpus` is %q: write a number from 0.01 on, like 1.5", text)
		}
		c.CPUs = cpus
	}
	return c, nil
}

// hostEngine is what is known of a real host's engine.
func hostEngine(n testbed.Node) testbed.HostEngine {
	if n.Engine == nil {
		return testbed.HostEngine{Socket: testbed.EngineSocket}
	}
	return *n.Engine
}

// Joins adds the wire, or, on one node, an interface with the node's address that leads nowhere: as a
// host has one, whoever it speaks with.
func (l *Layout) Joins() error {
	if l.Joined() {
		return l.Wire(l.OnUnderlay)
	}
	if l.inPlace {
		return nil // which it has
	}
	node := l.Graph.Nodes[0].Name
	end := func(device string, side byte) testbed.Interface {
		return testbed.Interface{Place: node, Device: device, MAC: MAC(side, l.Node(node)), MTU: l.Request.Wire.MTU}
	}
	link := testbed.Link{Name: "lan-" + node, Role: result.RoleInner, Ends: [2]testbed.Interface{end(NIC, 0), end("lan0", 2)}}
	link.Ends[0].Addresses = []string{Within(Underlay, l.Node(node))}
	l.Graph.Links = append(l.Graph.Links, link)
	return nil
}

// Published is where a pair's receiver is reached if that is not where it listens: at a published port.
type Published struct {
	Address netip.Addr // that a sender connects to
	Port    int        // that both ends name
	Beside  int        // the port of the light load beside the traffic
}

// Publish notes where the receiver of the i-th pair is reached.
func (l *Layout) Publish(i int, p Published) {
	for len(l.published) <= i {
		l.published = append(l.published, Published{})
	}
	l.published[i] = p
	l.Fact("published", strings.TrimPrefix(l.facts["published"]+", "+fmt.Sprintf("%s:%d", p.Address, p.Port), ", "))
}

// Listen is the address that the receiver of a pair binds to: an IP, or an IP:port where its port is
// published.
func (d Laid) Listen(pair result.Pair, i int, beside bool) string {
	if i < len(d.Published) && d.Published[i].Address.IsValid() {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), d.Published[i].port(beside)).String()
	}
	if i < len(d.ByPair) {
		return d.ByPair[i]
	}
	return d.Addresses[pair.To.Name()]
}

// Connect is the address that the sender of a pair connects to, given the one at which its receiver
// listens.
func (d Laid) Connect(i int, beside bool, listening string) string {
	if i < len(d.Published) && d.Published[i].Address.IsValid() {
		return netip.AddrPortFrom(d.Published[i].Address, d.Published[i].port(beside)).String()
	}
	return listening
}

func (p Published) port(beside bool) uint16 {
	if beside {
		return uint16(p.Beside)
	}
	return uint16(p.Port)
}
