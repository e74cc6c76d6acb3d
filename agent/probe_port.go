package agent

import (
	"context"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/kinds"
)

// portLoad is the load by which a path between ports is tried: a sender is ready only once
// frames of its have come to the receiver whole.
const portLoad = "frame"

// beyondIP is what a frame has beside its IP packet: Ethernet's header and FCS.
const beyondIP = 14 + 4

// portProbe is the receiving end.
type portProbe struct{ traffic.Worker }

func (p portProbe) close() { p.Close() }

// probePort opens the receiving end of a probe at a port of poll mode, or tries a path as its
// sending end.
func (w *worker) probePort(ctx context.Context, probe proto.Probe) proto.Reply {
	kind, _ := kinds.ByName(portLoad)
	size := probe.MTU + beyondIP
	load := result.Options{}
	if probe.Generator != "" {
		load["generator"] = probe.Generator
		if foreign, ok := kind.(traffic.Foreign); ok && foreign.Largest(probe.Generator) > 0 {
			size = min(size, foreign.Largest(probe.Generator))
		}
	}
	load["size"] = int64(size)
	ctx, cancel := context.WithTimeout(ctx, readyWithin(portLoad, load))
	defer cancel()
	end, err := kind.Prepare(ctx, traffic.Order{Role: probe.Role, Kind: portLoad, Address: probe.Address, Port: probe.Port, CPUs: probe.Port.CPUs, Load: load})
	if err != nil {
		return refuse("frames of %d bytes, the endpoint's MTU of %d or what its generator sends at most: %v", size, probe.MTU, err)
	}
	if probe.Role == traffic.Send {
		if err := end.Close(); err != nil {
			return refuse("ending the probe: %v", err)
		}
		return proto.Reply{}
	}
	w.keepProbe(portProbe{end})
	return proto.Reply{Address: end.Address()}
}
