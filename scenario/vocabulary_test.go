package scenario

import "windtunnel/result"

// words is a vocabulary with every type of option, one of each limit.
func words() Vocabulary {
	return Vocabulary{
		Paths: map[string][]result.Option{
			"wire":   nil,
			"bridge": nil,
			"vxlan":  {{Name: "vni", Type: result.Count, Min: 1, Max: 1<<24 - 1, Default: 1}},
			"vrouter": {
				{Name: "encapsulation", Type: result.Word, Words: []string{"mplsoudp", "none"}, Default: "mplsoudp"},
				{Name: "flows", Type: result.Switch, Default: false},
			},
		},
		Kinds: map[string][]result.Option{
			"stream": {
				{Name: "message", Type: result.Size, Min: 1, Max: 64 << 20, Default: 128 << 10},
				{Name: "streams", Type: result.Count, Min: 1, Max: 1024, Default: 1},
				{Name: "nodelay", Type: result.Switch},
				{Name: "buffer", Type: result.Size, Min: 1},
				{Name: "congestion", Type: result.Word, Default: "cubic"},
			},
			"datagram": {
				{Name: "message", Type: result.Size, Min: 1, Max: 65507, Default: 1400},
				{Name: "rate", Type: result.BitRate, Min: 1e3, Max: 1e12},
				{Name: "packets", Type: result.PacketRate, Max: 1e9},
				{Name: "spread", Type: result.Duration, Max: 1, Default: 0.001},
			},
		},
		Features: []string{"vxlan", "bpf", "tcx"},
	}
}
