package testbed

import (
	"strings"
	"testing"
)

// served is a node with an engine that runs two containers.
func served() Graph {
	return Graph{
		Cell: "E", Nodes: []Node{{Name: "a", CPUs: []int{0}}},
		Daemons: []Daemon{{Name: "docker", Node: "a", Program: "dockerd", Socket: "{dir}/s", Alone: true, Ends: EndsByKill}},
		Engines: []Engine{{Name: "engine", Node: "a", Daemon: "docker",
			Networks: []EngineNetwork{{Name: "n", Driver: "bridge", Subnet: "10.0.0.0/24", Gateway: "10.0.0.1", Options: map[string]string{"o": "v"}}},
			Containers: []EngineContainer{
				{Name: "one", Network: "n", Address: "10.0.0.2", Publish: []int{80}, CPUs: 1.5, MemoryBytes: 1 << 20},
				{Name: "two", Network: NetworkHost, Image: "/tmp/x y.tar"},
			}}},
	}
}

func TestEnginesContainersArePlaces(t *testing.T) {
	g := served()
	if err := Validate(g); err != nil {
		t.Fatal(err)
	}
	if g.NodeOf("two") != "a" || strings.Join(g.Places(), " ") != "a one two" || strings.Join(g.Stacks(), " ") != "a" {
		t.Errorf("places %v, stacks %v", g.Places(), g.Stacks())
	}
	if len(g.Part("b").Engines) != 0 || len(g.Part("a").Engines) != 1 {
		t.Error("engines are not their nodes'")
	}
	configuration := Configuration(g)
	for _, line := range []string{
		"docker network create -d bridge --subnet 10.0.0.0/24 --gateway 10.0.0.1 -o o=v n",
		"docker run --name one --network n --ip 10.0.0.2 -p 0.0.0.0:80:80/tcp -p 0.0.0.0:80:80/udp --cpus 1.5 --memory 1048576 windtunnel",
		"docker run --name two --network host '/tmp/x y.tar'",
	} {
		if !strings.Contains(configuration, line) {
			t.Errorf("no %q in\n%s", line, configuration)
		}
	}
}

func TestEnginesAreMadeAnewAfterTheirDaemons(t *testing.T) {
	have, want := served(), served()
	want.Daemons[0].Args = []string{"--mtu=1400"}
	var told []string
	for _, change := range Diff(have, want) {
		told = append(told, string(change.Do)+" "+string(change.Kind))
	}
	if got := strings.Join(told, ", "); got != "remove engine, remove daemon, make daemon, make engine" {
		t.Error(got)
	}
	kept := have.Clone()
	have.Engines[0].Containers[0].Publish[0], have.Engines[0].Networks[0].Options["o"] = 81, "w"
	if kept.Engines[0].Containers[0].Publish[0] != 80 || kept.Engines[0].Networks[0].Options["o"] != "v" {
		t.Error("a clone shares something")
	}
}

func TestImpossibleEngines(t *testing.T) {
	for want, spoil := range map[string]func(*Engine){
		`neither a daemon nor a socket`:         func(e *Engine) { e.Daemon = "" },
		`is no daemon with a socket`:            func(e *Engine) { e.Daemon = "other" },
		`the network "n" twice`:                 func(e *Engine) { e.Networks = append(e.Networks, e.Networks[0]) },
		`has the driver "ipvlan"`:               func(e *Engine) { e.Networks[0].Driver = "ipvlan" },
		`is no prefix`:                          func(e *Engine) { e.Networks[0].Subnet = "10.0.0.0" },
		`which is no address`:                   func(e *Engine) { e.Networks[0].Gateway = "x" },
		`in the network "other", which`:         func(e *Engine) { e.Containers[0].Network = "other" },
		`has the address "x"`:                   func(e *Engine) { e.Containers[0].Address = "x" },
		`the port 70000 is not possible`:        func(e *Engine) { e.Containers[0].Publish = []int{70000} },
		`in the network host nothing`:           func(e *Engine) { e.Containers[1].Publish = []int{80} },
		`and 0 is the least`:                    func(e *Engine) { e.Containers[0].CPUs = -1 },
		`two places are called "one"`:           func(e *Engine) { e.Containers[1].Name = "one" },
		`engine engine stands on "z", which is`: func(e *Engine) { e.Node = "z" },
	} {
		g := served()
		spoil(&g.Engines[0])
		if err := Validate(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
