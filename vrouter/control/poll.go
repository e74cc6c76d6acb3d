package control

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/poll"
)

// The modes.
const (
	ModeKernel = "kernel"
	ModePoll   = "poll"
)

const (
	inPollMode  = "poll mode"
	receivePoll = config.Receive("poll") // only in what is shown
)

// Poll is what the poll mode's process does.
type Poll struct {
	PID      int    `json:"pid"`      // 0 while it is being started anew
	Restarts int    `json:"restarts"` // since the start
	Memory   string `json:"memory"`   // "ordinary" or "huge", pages of the process that runs
	Cores    []Core `json:"cores"`    // those that forward
	// CyclesPerPacket is what a received packet took on average since the start, whatever became of
	// it: cycles of rounds that found packets. 0 before the first one.
	CyclesPerPacket float64 `json:"cycles_per_packet"`
	// StageCycles are the same by stage (receive, decide, move, send), of some of the rounds.
	StageCycles map[string]float64 `json:"stage_cycles_per_packet,omitempty"`
	// HostSent and HostLost are packets of the host's own, by a fabric that is none of its interfaces. The
	// account has them not.
	HostSent uint64 `json:"host_sent,omitempty"`
	HostLost uint64 `json:"host_lost,omitempty"`
	// HandOver tells that what a core receives at a port with fewer queues than cores is forwarded by all.
	HandOver bool `json:"hand_over"`
	// Unlinked are the ports, and "the fabric", at whose vhost-user sockets nobody is.
	Unlinked []string `json:"unlinked"`
}

// Core is a core that forwards. It always looks busy from outside; the cycles tell.
type Core struct {
	CPU     int    `json:"cpu"`
	Busy    uint64 `json:"busy_cycles"` // of rounds that found packets
	Idle    uint64 `json:"idle_cycles"` // of the others
	Hertz   uint64 `json:"hertz"`       // cycles a second
	Bursts  uint64 `json:"bursts"`      // that were not empty
	Packets uint64 `json:"packets"`     // that it has received
	Handed  uint64 `json:"handed"`      // of those, that other cores have forwarded
	Missed  uint64 `json:"missed"`      // packets that the kernel dropped, because a socket had no room for them
	// StageCycles are as [Poll.StageCycles], of this core's packets.
	StageCycles map[string]float64 `json:"stage_cycles_per_packet,omitempty"`
	// Timed are those packets, and Stages the cycles of all of them, for who wants those of a while.
	Timed  uint64            `json:"timed_packets"`
	Stages map[string]uint64 `json:"stage_cycles"`
}

func (a *Agent) mode() string {
	if a.poll != nil {
		return ModePoll
	}
	return ModeKernel
}

func (a *Agent) pollStatus() *Poll {
	if a.poll == nil {
		return nil
	}
	s := a.poll.Status()
	p := &Poll{PID: s.PID, Restarts: s.Restarts, Memory: string(s.Memory), HandOver: s.HandOver, Unlinked: []string{}}
	p.cycles(s.Cores)
	names := a.view().portNames()
	for vif, linked := range a.poll.Links() {
		if !linked {
			p.Unlinked = append(p.Unlinked, cmp.Or(names[vif], "the fabric"))
		}
	}
	slices.Sort(p.Unlinked)
	return p
}

// cycles adds the cores up.
func (p *Poll) cycles(cores []poll.Core) {
	var busy, packets, timed uint64
	var stages [len(poll.Stages)]uint64
	for _, c := range cores {
		core := Core{c.CPU, c.Busy, c.Idle, c.Hertz, c.Bursts, c.Packets, c.Handed, c.Missed, stageCycles(c.Stages, c.Timed), c.Timed, map[string]uint64{}}
		busy, packets, timed = busy+c.Busy, packets+c.Packets, timed+c.Timed
		p.HostSent, p.HostLost = p.HostSent+c.HostSent, p.HostLost+c.HostLost
		for i := range stages {
			stages[i] += c.Stages[i]
			core.Stages[poll.Stages[i]] = c.Stages[i]
		}
		p.Cores = append(p.Cores, core)
	}
	if packets > 0 {
		p.CyclesPerPacket = float64(busy) / float64(packets)
	}
	p.StageCycles = stageCycles(stages, timed)
}

// stageCycles are a packet's, by stage, if any were timed.
func stageCycles(stages [len(poll.Stages)]uint64, timed uint64) map[string]float64 {
	if timed == 0 {
		return nil
	}
	cycles := make(map[string]float64)
	for i, name := range poll.Stages {
		cycles[name] = float64(stages[i]) / float64(timed)
	}
	return cycles
}

// pollProblem is what keeps the process from running, if anything does.
func (a *Agent) pollProblem() error {
	if a.poll == nil {
		return nil
	}
	return a.poll.Problem()
}

// canDo refuses what the mode cannot do, before anything is changed.
func (a *Agent) canDo(c config.Config, facts config.Facts) error {
	if _, err := offloadFlows(c); err != nil {
		return err
	}
	if a.kernel != nil {
		return a.kernelMay(c, facts)
	}
	return errors.Join(poll.Check(c), a.poll.CanOpen(c, facts.All()))
}

// kernelMay refuses ports that the kernel mode does not have, and interfaces that it cannot take.
func (a *Agent) kernelMay(c config.Config, facts config.Facts) error {
	if err := kernelCan(c); err != nil {
		return err
	}
	return a.kernel.MayAttach(facts.All())
}

// kernelCan refuses what only poll mode has: kinds of ports, and the outer UDP checksum. Of an aggregate, all packets would
// get a copy of the same one without SKB_GSO_UDP_TUNNEL_CSUM: __skb_udp_tunnel_segment, net/ipv4/udp_offload.c.
func kernelCan(c config.Config) error {
	if c.Fabric.UDPChecksum {
		return &config.Error{Path: "fabric.udp_checksum", Message: "the kernel mode can make no outer UDP checksum: an aggregate (GSO) is cut into packets behind BPF, " +
			"which has no way to ask for a checksum of each (SKB_GSO_UDP_TUNNEL_CSUM); run it with --mode poll, or leave it out, since inner packets have their own"}
	}
	if c.Fabric.Device != nil {
		return &config.Error{Path: "fabric.device", Message: "the kernel mode's programs are at an interface of the kernel's; run it with --mode poll, or name the interface alone"}
	}
	for i, p := range c.Ports {
		if key := p.PollOnly(); key != "" {
			return &config.Error{Path: fmt.Sprintf("ports[%d].%s", i, key), Message: fmt.Sprintf(
				"port %s: %q is for poll mode, since the kernel mode's programs are at interfaces of the kernel's; run it with --mode poll, or give the port an interface alone", p.Name, key)}
		}
	}
	return nil
}
