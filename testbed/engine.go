package testbed

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Engine is a container engine of a node that speaks Docker's API, and what it runs for the cell.
// Whatever else the graph has on the node stands before it.
type Engine struct {
	Name string `json:"name"`
	Node string `json:"node"`
	// Daemon is the daemon of the graph that is the engine, with its Socket; empty: one that runs
	// already, whose settings nobody touches, at the Unix socket Socket.
	Daemon     string            `json:"daemon,omitempty"`
	Socket     string            `json:"socket,omitempty"`
	Networks   []EngineNetwork   `json:"networks,omitempty"`
	Containers []EngineContainer `json:"containers"`
}

// HostEngine is the container engine of a real host as it was found. Nobody changes its settings.
type HostEngine struct {
	Socket  string `json:"socket"`
	Version string `json:"version"`
	Proxy   string `json:"proxy,omitempty"` // the userland proxy: ProxyOn, ProxyOff
	MTU     int    `json:"mtu,omitempty"`   // of the default bridge; 0: it does not say
}

// EngineSocket is where an engine listens unless somebody chose otherwise (dockerd(8), --host).
const EngineSocket = "/var/run/docker.sock"

// Whether ports that an engine publishes have a process each, which passes on what the rules do not.
const (
	ProxyOn  = "on"
	ProxyOff = "off"
)

// EngineNetwork is one that is made for the cell, as `docker network create` does.
type EngineNetwork struct {
	Name    string            `json:"name"`
	Driver  string            `json:"driver"` // Driver*
	Subnet  string            `json:"subnet,omitempty"`
	Gateway string            `json:"gateway,omitempty"`
	Options map[string]string `json:"options,omitempty"` // the driver's
}

// EngineContainer is a place of the graph, as `docker run` makes it.
type EngineContainer struct {
	Name    string `json:"name"`
	Network string `json:"network"`           // one of the engine's Networks, or a Network* word
	Address string `json:"address,omitempty"` // a static one in that network; empty: the engine chooses
	MAC     string `json:"mac,omitempty"`
	Publish []int  `json:"publish,omitempty"` // ports, each of TCP and UDP, on every IPv4 address of the node
	// Image is one that the engine has, or a file that `docker save` wrote; empty: one that is made on
	// the spot. A worker's program is copied into the container either way.
	Image       string  `json:"image,omitempty"`
	CPUs        float64 `json:"cpus,omitempty"`         // how many it may use; 0: no limit
	MemoryBytes int64   `json:"memory_bytes,omitempty"` // 0: no limit
}

// The drivers of networks.
const (
	DriverBridge  = "bridge"
	DriverMacvlan = "macvlan"
)

// The networks that every engine has.
const (
	NetworkDefault = "bridge" // the default bridge
	NetworkHost    = "host"   // the node's own stack
	NetworkNone    = "none"   // a stack with nothing but loopback
)

// IsFile tells whether an image is named by a file.
func (c EngineContainer) IsFile() bool { return path.IsAbs(c.Image) || strings.HasPrefix(c.Image, ".") }

// OwnStack tells whether the container has a network stack of its own.
func (c EngineContainer) OwnStack() bool { return c.Network != NetworkHost }

// Contained returns the container of an engine that a place is.
func (g Graph) Contained(place string) (EngineContainer, Engine, bool) {
	for _, e := range g.Engines {
		for _, c := range e.Containers {
			if c.Name == place {
				return c, e, true
			}
		}
	}
	return EngineContainer{}, Engine{}, false
}

// Macvlan tells whether the engine makes a network of macvlan devices, which the kernel has to have.
func (e Engine) Macvlan() bool {
	return slices.ContainsFunc(e.Networks, func(n EngineNetwork) bool { return n.Driver == DriverMacvlan })
}

// object stands on everything else of its node, which its networks may be made on.
func (e Engine) object(g Graph) object {
	o := object{kind: KindEngine, name: e.Name, detail: e.Node + ": " + strings.Join(e.lines(), "; "), fixed: fmt.Sprint(e)}
	for _, d := range g.Part(e.Node).Daemons {
		o.needs = append(o.needs, object{kind: KindDaemon, name: d.Name}.key())
	}
	for _, l := range g.Part(e.Node).Links {
		o.needs = append(o.needs, linkKey(l))
	}
	return o
}

// lines are the commands that would do by hand what is asked of the engine.
func (e Engine) lines() []string {
	var all []string
	for _, n := range e.Networks {
		words := []string{"network", "create", "-d", n.Driver}
		add := func(flag, value string) {
			if value != "" {
				words = append(words, flag, value)
			}
		}
		add("--subnet", n.Subnet)
		add("--gateway", n.Gateway)
		for _, name := range slices.Sorted(maps.Keys(n.Options)) {
			add("-o", name+"="+n.Options[name])
		}
		all = append(all, typed("docker", append(words, n.Name)))
	}
	for _, c := range e.Containers {
		all = append(all, c.line())
	}
	return all
}

func (c EngineContainer) line() string {
	words := []string{"run", "--name", c.Name, "--network", c.Network}
	add := func(flag, value string) {
		if value != "" && value != "0" {
			words = append(words, flag, value)
		}
	}
	add("--ip", c.Address)
	add("--mac-address", c.MAC)
	for _, port := range c.Publish {
		words = append(words, "-p", fmt.Sprintf("0.0.0.0:%d:%d/tcp", port, port), "-p", fmt.Sprintf("0.0.0.0:%d:%d/udp", port, port))
	}
	add("--cpus", fmt.Sprint(c.CPUs))
	add("--memory", fmt.Sprint(c.MemoryBytes))
	image := c.Image
	if image == "" {
		image = "windtunnel"
	}
	return typed("docker", append(words, image))
}

func (e Engine) clone() Engine {
	e.Networks = each(e.Networks, func(n *EngineNetwork) { n.Options = maps.Clone(n.Options) })
	e.Containers = each(e.Containers, func(c *EngineContainer) { c.Publish = slices.Clone(c.Publish) })
	return e
}

func (c *checker) engine(e Engine) {
	owner := "engine " + e.Name
	c.once(KindEngine, e.Name)
	c.onNode(KindEngine, e.Name, e.Node)
	if e.Daemon == "" && !path.IsAbs(e.Socket) {
		c.fault("%s has neither a daemon nor a socket: %q is not an absolute path", owner, e.Socket)
	}
	if d, ok := c.graph.daemon(e.Daemon); e.Daemon != "" && (!ok || d.Node != e.Node || d.Socket == "" || e.Socket != "") {
		c.fault("%s: %q is no daemon with a socket on its node, or the engine has a socket besides", owner, e.Daemon)
	}
	networks := []string{NetworkDefault, NetworkHost, NetworkNone}
	for _, n := range e.Networks {
		if slices.Contains(networks, n.Name) || n.Name == "" {
			c.fault("%s has the network %q twice, or it has no name", owner, n.Name)
		}
		networks = append(networks, n.Name)
		if !slices.Contains([]string{DriverBridge, DriverMacvlan}, n.Driver) {
			c.fault("%s: the network %s has the driver %q; use bridge or macvlan", owner, n.Name, n.Driver)
		}
		if _, err := netip.ParsePrefix(n.Subnet); n.Subnet != "" && err != nil {
			c.fault("%s: the network %s has the subnet %q, which is no prefix like 10.0.0.0/24", owner, n.Name, n.Subnet)
		}
		if _, err := netip.ParseAddr(n.Gateway); n.Gateway != "" && err != nil {
			c.fault("%s: the network %s has the gateway %q, which is no address", owner, n.Name, n.Gateway)
		}
	}
	for _, k := range e.Containers {
		c.once(KindContainer, k.Name)
		c.contained(owner, k, networks)
	}
}

func (c *checker) contained(owner string, k EngineContainer, networks []string) {
	owner += ": container " + k.Name
	if !slices.Contains(networks, k.Network) {
		c.fault("%s is in the network %q, which there is not", owner, k.Network)
	}
	if _, err := netip.ParseAddr(k.Address); k.Address != "" && err != nil {
		c.fault("%s has the address %q, which is none", owner, k.Address)
	}
	for _, port := range k.Publish {
		if port < 1 || port > 65535 {
			c.fault("%s: the port %d is not possible", owner, port)
		}
	}
	if len(k.Publish) > 0 && (k.Network == NetworkHost || k.Network == NetworkNone) {
		c.fault("%s: in the network %s nothing is published", owner, k.Network)
	}
	if k.CPUs < 0 || k.MemoryBytes < 0 {
		c.fault("%s: its limits are %g CPUs and %d bytes, and 0 is the least, for none", owner, k.CPUs, k.MemoryBytes)
	}
}
