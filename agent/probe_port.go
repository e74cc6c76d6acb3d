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
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	load := result.Options{"size": int64(probe.MTU + beyondIP)}
	if probe.Generator != "" {
		load["generator"] = probe.Generator
	}
	end, err := kind.Prepare(ctx, traffic.Order{Role: probe.Role, Kind: portLoad, Address: probe.Address, Port: probe.Port, Load: load})
	if err != nil {
		return refuse("frames of the endpoint's MTU, %d bytes: %v", probe.MTU, err)
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
