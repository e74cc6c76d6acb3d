package control

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/kernel"
	"windtunnel/vrouter/packet"
	"windtunnel/vrouter/poll"
)

// TraceRequest asks what would become of a frame: one that is given, or one that is made.
type TraceRequest struct {
	Port   string `json:"port,omitempty"`   // that sends it; or else
	Fabric bool   `json:"fabric,omitempty"` // it comes from the fabric
	Hex    string `json:"hex,omitempty"`    // the frame; the rest makes one
	To     string `json:"to,omitempty"`
	MAC    string `json:"mac,omitempty"`   // whom the frame is addressed to, instead of who answers ARP for To
	From   string `json:"from,omitempty"`  // instead of the port's address
	Proto  string `json:"proto,omitempty"` // icmp, udp, tcp, arp or nd
	Sport  uint16 `json:"sport,omitempty"`
	Dport  uint16 `json:"dport,omitempty"`
	Size   int    `json:"size,omitempty"` // bytes, of the IP packet
	TTL    *uint8 `json:"ttl,omitempty"`  // 64 without
	TOS    uint8  `json:"tos,omitempty"`
	NoDF   bool   `json:"no_df,omitempty"` // may be fragmented
}

// TraceReply is what became of a frame, step by step.
type TraceReply struct {
	At     string         `json:"at"` // where it was received: "port sender", "fabric wire0"
	Length int            `json:"length"`
	In     []packet.Layer `json:"in"`
	Steps  []TraceStep    `json:"steps"`
	Result string         `json:"result"` // what became of it: one of core.OperationNames
	Drop   string         `json:"drop,omitempty"`
	Says   string         `json:"says"`
	Out    *TraceOut      `json:"out,omitempty"` // live packets have none
}

// TraceStep is one step of the decision.
type TraceStep struct {
	Step string `json:"step"`
	Says string `json:"says"`
}

// TraceOut is the frame that would leave.
type TraceOut struct {
	Interface string         `json:"interface"`
	Port      string         `json:"port,omitempty"`
	Length    int            `json:"length"`
	Hex       string         `json:"hex"`
	Layers    []packet.Layer `json:"layers"`
}

// Trace runs a frame through the very programs that forward, over the tables as they are, without
// sending or counting it.
func (a *Agent) Trace(r TraceRequest) (TraceReply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	frame, ifindex, err := a.traceFrame(r)
	if err != nil {
		return TraceReply{}, Refuse(err)
	}
	switch {
	case len(frame) < 14:
		return TraceReply{}, Refuse(fmt.Errorf("a frame has at least 14 bytes, not %d", len(frame)))
	case len(frame) > a.maxTraceFrame():
		return TraceReply{}, Refuse(fmt.Errorf("%d bytes are more than the %s takes for a trial; at most %d", len(frame), a.mover(), a.maxTraceFrame()))
	}
	trace, err := a.try(ifindex, r.Fabric, frame)
	if err != nil {
		return TraceReply{}, err
	}
	trace.Head = frame
	return a.explain(trace), nil
}

// mover is what forwards, in words.
func (a *Agent) mover() string {
	if a.poll != nil {
		return "poll mode"
	}
	return "kernel"
}

func (a *Agent) maxTraceFrame() int {
	if a.poll != nil {
		return poll.MaxTraceFrame
	}
	return kernel.MaxTraceFrame
}

// try lets what forwards decide about a frame that an interface would receive.
func (a *Agent) try(ifindex uint32, fabric bool, frame []byte) (core.Trace, error) {
	if a.poll == nil {
		return a.kernel.Trace(ifindex, fabric, frame)
	}
	vif := uint32(0)
	for slot, v := range a.image.Vifs {
		if !fabric && v.Ifindex == ifindex {
			vif = slot
		}
	}
	return a.poll.Trace(vif, frame)
}

// traceFrame makes the frame, and finds the interface that receives it.
func (a *Agent) traceFrame(r TraceRequest) (frame []byte, ifindex uint32, err error) {
	switch {
	case r.Fabric == (r.Port != ""):
		return nil, 0, errors.New("say where the frame comes from: a port, or the fabric")
	case r.Hex == "" && r.Fabric:
		return nil, 0, errors.New("a frame from the fabric must be given as it is, in hexadecimal")
	case (r.Hex == "") == (r.To == ""):
		return nil, 0, errors.New("give a frame in hexadecimal, or say where one should go")
	}
	if ifindex = a.facts.FabricIfindex; r.Port != "" {
		if ifindex, err = a.portIfindex(r.Port); err != nil {
			return nil, 0, err
		}
	}
	if r.Hex == "" {
		frame, err = a.make(r)
		return frame, ifindex, err
	}
	if frame, err = hex.DecodeString(strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(r.Hex)); err != nil {
		return nil, 0, fmt.Errorf("reading the frame: %w", err)
	}
	return frame, ifindex, nil
}

func (a *Agent) portIfindex(name string) (uint32, error) {
	if err := a.view().check(Scope{Port: name}); err != nil {
		return 0, err
	}
	vif, ok := a.image.Vifs[a.view().slots()[config.ID(name)]]
	if !ok {
		return 0, fmt.Errorf("the interface of port %s is gone", name)
	}
	return vif.Ifindex, nil
}

// make makes a frame as the port's container would.
func (a *Agent) make(r TraceRequest) ([]byte, error) {
	port := a.port(r.Port)
	s := packet.Spec{
		SourceMAC: port.MAC, Source: port.Address, Protocol: r.Proto,
		SourcePort: r.Sport, DestinationPort: r.Dport, Size: r.Size, TTL: 64, TOS: r.TOS, DontFragment: !r.NoDF,
	}
	if r.Proto == "" {
		s.Protocol = "icmp"
	}
	if r.TTL != nil {
		s.TTL = *r.TTL
	}
	var err error
	if s.Destination, err = netip.ParseAddr(r.To); err != nil {
		return nil, fmt.Errorf("reading the destination: %w", err)
	}
	if s.DestinationMAC, err = a.macOf(port, s.Destination, r.MAC); err != nil {
		return nil, err
	}
	if s.Destination.Is6() && port.Address6.IsValid() {
		s.Source = port.Address6
	}
	if r.From != "" {
		if s.Source, err = netip.ParseAddr(r.From); err != nil {
			return nil, fmt.Errorf("reading the source: %w", err)
		}
	}
	return packet.Build(s)
}

// macOf is whom a port addresses a frame to: whose the address is on its link, if that is bridged, and
// else the gateway.
func (a *Agent) macOf(from config.Port, to netip.Addr, wanted string) (config.MAC, error) {
	if wanted != "" {
		return config.ParseMAC(wanted)
	}
	bridged := slices.ContainsFunc(a.config.Networks, func(n config.Network) bool { return n.Name == from.Network && n.Bridge != nil })
	for _, p := range a.config.Ports {
		if bridged && p.Network == from.Network && (p.Address == to || p.Address6 == to) {
			return p.MAC, nil
		}
	}
	return config.GatewayMAC, nil
}

func (a *Agent) port(name string) config.Port {
	for _, p := range a.config.Ports {
		if p.Name == name {
			return p
		}
	}
	return config.Port{}
}

// place names an interface of the vRouter: a port's, or the fabric's.
func (a *Agent) place(ifindex uint32) (port, name string) {
	names := a.view().portNames()
	for slot, vif := range a.image.Vifs {
		if vif.Ifindex == ifindex {
			p := a.port(names[slot])
			return p.Name, p.Place()
		}
	}
	if ifindex == a.facts.FabricIfindex {
		return "", a.config.Fabric.Interface
	}
	return "", fmt.Sprintf("interface %d", ifindex)
}

// explain puts a trace into words.
func (a *Agent) explain(t core.Trace) TraceReply {
	port, name := a.place(t.Ifindex)
	e := explainer{agent: a, port: a.port(port), reply: TraceReply{
		At: "fabric " + name, Length: int(t.Length), In: packet.Describe(t.Head, int(t.Length)), Steps: []TraceStep{}, Result: "pass",
	}}
	if port != "" {
		e.reply.At = "port " + port
	}
	for _, s := range t.Steps {
		e.step(s)
	}
	if e.left != 0 && t.TookOver {
		port, name := a.place(e.left)
		e.reply.Out = &TraceOut{name, port, len(t.Out), hex.EncodeToString(t.Out), packet.Describe(t.Out, len(t.Out))}
	}
	return e.reply
}
