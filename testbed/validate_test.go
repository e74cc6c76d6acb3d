package testbed

import (
	"strings"
	"testing"

	"windtunnel/result"
)

func TestValid(t *testing.T) {
	for name, g := range map[string]Graph{"overlay": overlay(), "polled": polled(), "empty": {}} {
		if err := Validate(g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	wire := func(g *Graph) *Interface { return &g.Links[0].Ends[0] }
	for _, c := range []struct {
		want   string
		change func(*Graph)
	}{
		{`two places are called "a"`, func(g *Graph) { g.Containers[0].Name = "a" }},
		{`CPUs count from 0`, func(g *Graph) { g.Nodes[0].CPUs = []int{-1} }},
		{`container c stands on "z"`, func(g *Graph) { g.Containers[0].Node = "z" }},
		{`two of the kind link are called "wire"`, func(g *Graph) { g.Links[1].Name = "wire" }},
		{`hold no slash`, func(g *Graph) { g.Daemons[0].Name = "../x" }},
		{`has 16 bytes`, func(g *Graph) { wire(g).Device = "sixteen-bytes-xx" }},
		{`not a possible device name`, func(g *Graph) { wire(g).Device = "a/b" }},
		{`both have the device a/v-c`, func(g *Graph) { wire(g).Device = "v-c" }},
		{`an MTU of 70000`, func(g *Graph) { g.Bridges[0].MTU = 70000 }},
		{`an MTU of 0`, func(g *Graph) { g.VXLANs[0].MTU = 0 }},
		{`ends of MTU 9000 and 1500`, func(g *Graph) { wire(g).MTU = 9000 }},
		{`there is no place "z"`, func(g *Graph) { wire(g).Place = "z" }},
		{`is a tap, and has a/v-c at its other end`, func(g *Graph) { g.Links[1].Kind = LinkTap }},
		{`no such bridge on node a`, func(g *Graph) { g.Links[1].Ends[1].Bridge = "other" }},
		{`"lro" is not an offload`, func(g *Graph) { wire(g).Offloads["lro"] = true }},
		{`threaded NAPI needs GRO`, func(g *Graph) { wire(g).Offloads[GRO] = false }},
		{"a rate of -1", func(g *Graph) { wire(g).BitsPerSecond = -1 }},
		{"a loss of 1 ", func(g *Graph) { wire(g).Loss = 1 }},
		{`steering "magic"`, func(g *Graph) { wire(g).Steering = "magic" }},
		{`5000 queues`, func(g *Graph) { wire(g).Queues = 5000 }},
		{`not the address of one Ethernet interface`, func(g *Graph) { wire(g).MAC = "01:00:00:00:00:01" }},
		{`not an address with its prefix length`, func(g *Graph) { wire(g).Addresses = []string{"10.0.0.1"} }},
		{`destination "default"`, func(g *Graph) { g.Links[1].Ends[0].Routes[0].Prefix = "default" }},
		{`gateway "x"`, func(g *Graph) { g.Links[1].Ends[0].Routes[0].Gateway = "x" }},
		{`a wire joins two nodes`, func(g *Graph) { g.Links[1].Role = result.RoleWire }},
		{`has the role "rope"`, func(g *Graph) { g.Links[0].Role = "rope" }},
		{`the VNI 0`, func(g *Graph) { g.VXLANs[0].VNI = 0 }},
		{`UDP port 0`, func(g *Graph) { g.VXLANs[0].Port = 0 }},
		{`tunnel end "x"`, func(g *Graph) { g.VXLANs[0].Remote = "x" }},
		{`underlay a/eth7 is not in the graph`, func(g *Graph) { g.VXLANs[0].Underlay = "eth7" }},
		{`has no program, and is more than commands`, func(g *Graph) { g.Daemons[0].Program = "" }},
		{`has no program, and is more than commands`, func(g *Graph) { g.Daemons[0] = Daemon{Name: "empty", Node: "a"} }},
		{`a command of daemon agent has no program`, func(g *Graph) { g.Daemons[0].After[0].Program = "" }},
		{`"=x" is not a variable`, func(g *Graph) { g.Daemons[0].Environment[0] = "=x" }},
		{`name one of them`, func(g *Graph) { g.Daemons[0].Up = Up{Socket: "{dir}/s", Says: "up"} }},
		{`ends by "hope"`, func(g *Graph) { g.Daemons[0].Ends = "hope" }},
		{`no place "z"`, func(g *Graph) { g.Ports[0].Place = "z" }},
		{`"other" is no daemon`, func(g *Graph) { g.Ports[0].Tester = "other" }},
		{`no daemon with a socket on the node of c`, func(g *Graph) { g.Daemons[0].Socket = "" }},
		{`"x" is not an Ethernet address`, func(g *Graph) { g.Ports[0].NextHop = "x" }},
		{`port port: "10.0.0.9" is not an address`, func(g *Graph) { g.Ports[0].Address = "10.0.0.9" }},
		{`port port: an MTU of 1`, func(g *Graph) { g.Ports[0].MTU = 1 }},
		{`not a file's name`, func(g *Graph) { g.Daemons[0].Files = map[string]string{"../x": ""} }},
	} {
		t.Run(c.want, func(t *testing.T) {
			g := polled()
			c.change(&g)
			err := Validate(g)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `cell "X"`) {
				t.Errorf("got %v", err)
			}
		})
	}
}
