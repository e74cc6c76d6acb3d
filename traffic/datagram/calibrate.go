package datagram

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// calibration is how long Calibrate sends.
const calibration = 300 * time.Millisecond

// sinkBuffer is a sink's receive buffer: so small that nearly all is dropped
// there, which is the least work that a datagram can make.
const sinkBuffer = 4096

// Calibrate sends the load, as fast as it goes, over loopback to sockets that
// nobody reads, and returns datagrams per second of the time that it had a CPU.
func (Kind) Calibrate(ctx context.Context, given result.Options, cpus []int) (perSecond float64, err error) {
	flat := maps.Clone(given)
	for _, paced := range []string{"rate", "packets", "burst"} { // a search's load has a burst, and no rate yet
		delete(flat, paced)
	}
	l, err := parseLoad(flat)
	if err != nil {
		return 0, err
	}
	var flows []Flow
	var sinks []*net.UDPConn
	closeAll := func() {
		for _, c := range sinks {
			c.Close()
		}
	}
	defer closeAll()
	for i := range l.flows {
		sink, conn, err := sinkAndSource(l, sinks, i)
		if err != nil {
			for _, f := range flows {
				f.Conn.Close()
			}
			return 0, fmt.Errorf("opening a sink on loopback: %w", err)
		}
		if sink != nil {
			sinks = append(sinks, sink)
		}
		flows = append(flows, Flow{Conn: conn, Role: traffic.Send, ID: uint32(i)})
	}
	e, err := NewEngine(flows, l.config(newKey(), cpus))
	if err != nil {
		return 0, err
	}
	defer e.Close()
	return measure(ctx, e)
}

// sinkAndSource connects flow i to a sink, one a thread.
func sinkAndSource(l load, sinks []*net.UDPConn, i int) (sink, conn *net.UDPConn, err error) {
	if i < l.threads {
		if sink, err = newSink(l); err != nil {
			return nil, nil, err
		}
		sinks = append(sinks, sink)
	}
	to := sinks[i%l.threads].LocalAddr().(*net.UDPAddr)
	if conn, err = net.DialUDP("udp", nil, to); err != nil && sink != nil {
		sink.Close()
		sink = nil
	}
	return sink, conn, err
}

func newSink(l load) (*net.UDPConn, error) {
	sink, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	sink.SetReadBuffer(sinkBuffer)
	if l.segment == offloadAuto {
		takeAggregates(sink)
	}
	return sink, nil
}

func measure(ctx context.Context, e *Engine) (float64, error) {
	e.Start()
	before := e.Snapshot()
	timer := time.NewTimer(calibration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.Done():
		return 0, errors.Join(errors.New("the sink broke"), e.Err())
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return ownRate(before, e.Snapshot())
}

// ownRate is in datagrams per second of the time that the senders had a CPU.
func ownRate(before, after Snapshot) (float64, error) {
	packets := uint64(0)
	for i, f := range after.Flows {
		packets += f.Packets - before.Flows[i].Packets
	}
	return after.Send.Since(before.Send).OwnRate(packets, after.At.Sub(before.At))
}
