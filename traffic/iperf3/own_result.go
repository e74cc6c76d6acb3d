package iperf3

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// ownResult is what an end of ours tells the other one of its threads and sockets in what counts, beside what iperf3 tells: the
// member "windtunnel" of its results, which iperf3 ignores. Of a server the CPU time that iperf3 tells is that of all its clients.
type ownResult struct {
	Stood   float64      `json:"stood_seconds"`  // for how long its program stood still
	Missed  float64      `json:"missed_seconds"` // see shortfall
	Held    float64      `json:"held_seconds"`
	Send    threadResult `json:"send"` // the hot threads that send, and those that receive
	Receive threadResult `json:"receive"`
	Drops   uint64       `json:"socket_drops"` // datagrams that were lost in the buffers of its sockets
	// Connections are those of TCP on which it sends, where the system tells of them.
	Connections []connectionResult `json:"connections,omitempty"`
}

// connectionResult is what a sender's system tells of one connection (TCP_INFO), in seconds.
type connectionResult struct {
	Busy   float64 `json:"busy_seconds"`
	Rwnd   float64 `json:"rwnd_limited_seconds"`
	Sndbuf float64 `json:"sndbuf_limited_seconds"`
	MinRTT float64 `json:"min_rtt_seconds"`
}

// threadResult is of one direction's hot threads; in seconds, summed but for those of the busiest.
type threadResult struct {
	Threads int     `json:"threads"`
	CPU     float64 `json:"cpu_seconds"`
	Busiest float64 `json:"busiest_seconds"`
	Wait    float64 `json:"wait_seconds"` // without a CPU
}

// The bounds of what an end of ours may tell of: seconds that are a time.Duration, and threads.
const (
	mostSeconds = 1e9
	mostThreads = 1 << 16
)

func threadsOf(spent traffic.CrewTime) threadResult {
	return threadResult{Threads: spent.Threads, CPU: spent.CPU.Seconds(), Busiest: spent.Busiest().Seconds(), Wait: spent.Wait.Seconds()}
}

func (r threadResult) put(end *result.PairEnd) {
	end.Threads, end.CPUSeconds, end.BusiestSeconds = r.Threads, r.CPU, r.Busiest
}

// sent puts it into what it sent.
func (o *ownResult) sent(end *result.PairEnd) {
	o.Send.put(end)
	for _, c := range o.Connections {
		end.Connections = append(end.Connections, result.Connection{BusySeconds: c.Busy, RwndLimitedSeconds: c.Rwnd, SndbufLimitedSeconds: c.Sndbuf, MinRTTSeconds: c.MinRTT})
	}
	end.Offered.WaitSeconds, end.Offered.MissedSeconds, end.Offered.HeldSeconds = o.Send.Wait, &o.Missed, o.Held
}

// received puts it into what it received.
func (o *ownResult) received(end *result.PairEnd) {
	o.Receive.put(end)
	end.Waited = &result.Wait{Seconds: o.Receive.Wait}
}

// own is what this end tells of itself.
func (t *tally) own(now reading) *ownResult {
	lacks := now.shortfall.since(t.base.shortfall)
	o := &ownResult{
		Stood: t.still.For.Seconds(), Missed: lacks.missed.Seconds(), Held: lacks.held.Seconds(),
		Send: threadsOf(now.send.Since(t.base.send)), Receive: threadsOf(now.receive.Since(t.base.receive)),
	}
	for i, s := range t.streams {
		if udp := now.streams[i].udp; udp != nil && !s.sender {
			o.Drops += udp.arrived(t.base.streams[i].udp).SocketDrops
		}
		if tcp := now.streams[i].tcp; tcp != nil && s.sender {
			c := tcp.limited(t.base.streams[i].tcp)
			o.Connections = append(o.Connections, connectionResult{c.BusySeconds, c.RwndLimitedSeconds, c.SndbufLimitedSeconds, c.MinRTTSeconds})
		}
	}
	return o
}

// readOwn is nil where the peer is none of ours.
func readOwn(body json.RawMessage) (*ownResult, error) {
	if body == nil {
		return nil, nil
	}
	f, err := parseFields(body)
	if err != nil {
		return nil, err
	}
	o := &ownResult{
		Stood: f.number("stood_seconds", 0, mostSeconds), Missed: f.number("missed_seconds", 0, mostSeconds), Held: f.number("held_seconds", 0, mostSeconds),
		Drops: uint64(f.integer("socket_drops", 0, math.MaxInt64)),
	}
	if f.err != nil {
		return nil, f.err
	}
	if o.Send, err = readThreads(f.values["send"]); err == nil {
		o.Receive, err = readThreads(f.values["receive"])
	}
	if err == nil {
		o.Connections, err = readConnections(f.values["connections"])
	}
	return o, err
}

func readConnections(body json.RawMessage) (all []connectionResult, err error) {
	if body == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil || len(list) > MaxParallel {
		return nil, fmt.Errorf("\"connections\" is no list of %d at most", MaxParallel)
	}
	for _, one := range list {
		f, err := parseFields(one)
		if err != nil {
			return nil, err
		}
		second := func(name string) float64 { return f.number(name, 0, mostSeconds) }
		all = append(all, connectionResult{second("busy_seconds"), second("rwnd_limited_seconds"), second("sndbuf_limited_seconds"), second("min_rtt_seconds")})
		if f.err != nil {
			return nil, f.err
		}
	}
	return all, nil
}

func readThreads(body json.RawMessage) (threadResult, error) {
	if body == nil {
		return threadResult{}, nil
	}
	f, err := parseFields(body)
	if err != nil {
		return threadResult{}, err
	}
	r := threadResult{
		Threads: int(f.integer("threads", 0, mostThreads)), CPU: f.number("cpu_seconds", 0, mostSeconds),
		Busiest: f.number("busiest_seconds", 0, mostSeconds), Wait: f.number("wait_seconds", 0, mostSeconds),
	}
	return r, f.err
}

// stood is 0 of a peer that is none of ours.
func (o *ownResult) stood() time.Duration {
	if o == nil {
		return 0
	}
	return time.Duration(o.Stood * float64(time.Second))
}
