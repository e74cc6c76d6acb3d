// Package publishedport is the path to a server in a container behind a published port, as `docker run
// -p` makes it: rules that rewrite addresses, a bridge, and the engine's proxy process.
package publishedport

import (
	"cmp"
	"fmt"
	"net/netip"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers behind published ports.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// InPlace says that they do with their own stacks, beside the engine that runs there.
func (Path) InPlace() {}

// Name is the suite's word.
func (Path) Name() string { return "published-port" }

// Says describes it.
func (Path) Says() string {
	return "a server in a Docker container behind a published port, with the userland proxy or without"
}

const (
	optionProxy   = "proxy"
	optionConnect = "connect"
	optionNetwork = "network"
	optionPort    = "port"

	connectAddress  = "address"
	connectLoopback = "loopback"

	networkUser = "user"

	// firstPort is iperf3's, which the source publishes (002, "Setup").
	firstPort = 5201
)

// Options are the proxy, the network, the port and where a client on the server's node connects.
func (Path) Options() []result.Option {
	return append([]result.Option{{
		Name: optionProxy, Type: result.Switch, Default: true,
		Says: "the engine's userland proxy, which clients on the server's node pass through who connect to 127.0.0.1",
	}, {
		Name: optionConnect, Type: result.Word, Words: []string{connectAddress, connectLoopback},
		Says: "where a client on the server's node connects: to the node's address, or to 127.0.0.1, as it does by itself with the proxy",
	}, {
		Name: optionNetwork, Type: result.Word, Words: []string{testbed.NetworkDefault, networkUser}, Default: testbed.NetworkDefault,
		Says: "the default bridge, or one that `docker network create` made",
	}, {
		Name: optionPort, Type: result.Count, Min: 1, Max: 65000, Default: int64(firstPort),
		Says: "the first published port",
	}}, datapath.EngineOptions()...)
}

// Programs are the engine's.
func (Path) Programs() []datapath.Program {
	return append(datapath.EnginePrograms(), datapath.Program{Name: "docker-proxy", Install: "apt-get install docker.io"})
}

// userNetwork is the bridge that is made for the cell, beside the default one's subnet.
var userNetwork = testbed.EngineNetwork{Name: "windtunnel", Driver: testbed.DriverBridge, Subnet: "172.18.0.0/16"}

// Lay puts each container of the endpoints behind its node's engine and publishes two ports of every
// receiver: its traffic's and that of a load beside it.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.BeginInPlace(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if r.Segmentation == datapath.SegmentationOff {
		return datapath.Laid{}, l.Errorf("the bridge and the pairs are the engine's, which leaves their offloads as they are: take `segmentation: as-found`, or the path bridge")
	}
	ports, err := publish(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := l.Joins(); err != nil {
		return datapath.Laid{}, err
	}
	proxy := r.Options.Bool(optionProxy)
	network := cmp.Or(r.Options.Text(optionNetwork), testbed.NetworkDefault)
	err = l.Engines(datapath.EngineSettings{Proxy: proxy, MTU: l.Request.Wire.MTU}, func(e *testbed.Engine, c *testbed.EngineContainer, _ int) {
		c.Network, c.Publish = network, ports[c.Name]
		if network == networkUser {
			if len(e.Networks) == 0 {
				made := userNetwork
				if l.OnHosts() {
					made.Subnet = "" // the engine knows which are free
				}
				made.Options = map[string]string{"com.docker.network.driver.mtu": fmt.Sprint(l.Request.Wire.MTU)}
				e.Networks = []testbed.EngineNetwork{made}
			}
			c.Network = userNetwork.Name
		}
	})
	if err != nil {
		return datapath.Laid{}, err
	}
	l.Fact("userland proxy", onOff(proxy))
	mtu := l.Request.Wire.MTU
	if network == testbed.NetworkDefault {
		mtu = l.EngineMTU()
	}
	asHostsHave(l, proxy)
	return l.Finish(mtu)
}

// asHostsHave compares the proxy with those of real hosts' engines, where a pair's packets meet it.
func asHostsHave(l *datapath.Layout, asked bool) {
	for _, pair := range l.Request.Pairs {
		has := l.HostProxy(pair.To.Node)
		if has == "" {
			continue
		}
		l.Fact("userland proxy", has)
		if pair.From.Node == pair.To.Node && has != onOff(asked) {
			l.NotHere("the engine of node %s runs with its userland proxy %s, and the cell has `proxy: %s`: an engine that is in use is not set otherwise",
				pair.To.Node, has, onOff(asked))
		}
	}
}

func onOff(on bool) string {
	if on {
		return testbed.ProxyOn
	}
	return testbed.ProxyOff
}

// publish deals out ports to the pairs' receivers and says where each is reached.
func publish(l *datapath.Layout) (map[string][]int, error) {
	ports, next := map[string][]int{}, int(cmp.Or(l.Request.Options.Int(optionPort), firstPort))
	for i, pair := range l.Request.Pairs {
		if pair.To.Container == "" {
			return nil, l.Errorf("%s receives in the node's own stack, and a published port leads into a container: write {container: NAME, on: %s}, or take the path wire",
				pair.To.Name(), pair.To.Node)
		}
		address, err := reached(l, pair)
		if err != nil {
			return nil, err
		}
		ports[pair.To.Container] = append(ports[pair.To.Container], next, next+1)
		l.Publish(i, datapath.Published{Address: address, Port: next, Beside: next + 1})
		next += 2
	}
	if next > 65536 {
		return nil, l.Errorf("its pairs need the ports up to %d, and 65535 is the last: begin lower", next-1)
	}
	return ports, nil
}

// reached is the address that a pair's sender connects to. 127.0.0.1 is the only one of the node's that
// the engine's rules leave alone, so that the proxy takes it (Docker's "Packet filtering and firewalls";
// without the proxy the engine has rules for it as well).
func reached(l *datapath.Layout, pair result.Pair) (netip.Addr, error) {
	node, loopback := l.Node(pair.To.Node), netip.MustParseAddr("127.0.0.1")
	own := pair.From.Container == "" && pair.From.Node == pair.To.Node
	switch connect := l.Request.Options.Text(optionConnect); {
	case connect == connectLoopback && !own:
		return node, l.Errorf("%s cannot connect to 127.0.0.1, which is its own: only a client in the stack of node %s can; leave `%s` out",
			pair.From.Name(), pair.To.Node, optionConnect)
	case connect == connectLoopback, connect == "" && own && l.Request.Options.Bool(optionProxy):
		return loopback, nil
	}
	return node, nil
}
