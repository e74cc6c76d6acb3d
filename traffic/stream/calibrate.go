package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/lobby"
)

var _ traffic.Calibrator = Kind{}

// The samples of a calibration, of which the fastest counts (fastestOf), after a moment in
// which windows open.
const (
	calibrationWarmUp = 50 * time.Millisecond
	calibrationSample = 100 * time.Millisecond
	calibrationCount  = 3
)

// Calibrate returns how many bytes a second the load's senders hand over on the
// loopback of this network namespace to receivers that cost as little as they can:
// they discard, and run on a CPU that is not the senders' where there is one. A
// rate is left out. It takes 0.4 s.
func (Kind) Calibrate(ctx context.Context, options result.Options, cpus []int) (float64, error) {
	l, err := parseLoad(options)
	if err != nil {
		return 0, err
	}
	l.config.BitsPerSecond, l.config.Pacing, l.config.Burst = 0, "", 0
	senders, receivers, err := loopback(ctx, l)
	if err != nil {
		return 0, fmt.Errorf("connecting over loopback: %w", err)
	}
	sink := Config{Message: l.config.Message, Threads: l.config.Threads, Discard: canDiscard, FailTogether: true}
	into, err := NewEngine(flowsOf(receivers, traffic.Receive), sink)
	if err != nil {
		closeConns(senders)
		return 0, err
	}
	defer into.Close()
	l.config.CPUs = cpus
	from, err := NewEngine(flowsOf(senders, traffic.Send), l.config)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	into.Start()
	from.Start()
	return from.ownRate(ctx)
}

func flowsOf(conns []*net.TCPConn, role traffic.Role) (flows []Flow) {
	for _, c := range conns {
		flows = append(flows, Flow{Conn: c, Role: role})
	}
	return flows
}

// ownRate samples what the senders hand over, in bytes per second.
func (e *Engine) ownRate(ctx context.Context) (float64, error) {
	pause := func(d time.Duration) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return ctx.Err() // of two that are ready select takes either
		case <-e.Done():
			return errors.Join(errors.New("calibrating: the streams ended"), e.Err())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := pause(calibrationWarmUp); err != nil {
		return 0, err
	}
	var rates []float64
	for before := e.Counts(); len(rates) < calibrationCount; {
		if err := pause(calibrationSample); err != nil {
			return 0, err
		}
		after := e.Counts()
		// Where there is one CPU the sink has its share of it, which on a path is the far end's.
		rate, err := after.Send.Since(before.Send).OwnRate(e.between(traffic.Send, before, after).Bytes, after.At.Sub(before.At))
		if err != nil {
			return 0, err
		}
		rates = append(rates, rate)
		before = after
	}
	return fastestOf(rates), nil
}

// fastestOf is what a generator reaches by itself, of some samples: where others had the sink's CPU its socket was full, and the senders
// slept. That is nothing of theirs, and no time in which they waited for a CPU.
func fastestOf(rates []float64) float64 { return slices.Max(rates) }

// loopback connects the load's streams within this namespace, by IPv4 or, where
// there is none, IPv6.
func loopback(ctx context.Context, l load) (dialled, accepted []*net.TCPConn, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	ln, err := lobby.Listen(ctx, "127.0.0.1", l.control())
	if err != nil {
		ln, err = lobby.Listen(ctx, "::1", l.control())
	}
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	for range l.streams {
		to, from, e := meet(ctx, l, ln)
		if e != nil {
			closeConns(dialled)
			closeConns(accepted)
			return nil, nil, e
		}
		dialled, accepted = append(dialled, to), append(accepted, from)
	}
	return dialled, accepted, nil
}

// meet makes one connection. A stranger's, which came between, is closed.
func meet(ctx context.Context, l load, ln net.Listener) (dialled, accepted *net.TCPConn, err error) {
	conns, err := lobby.Dial(ctx, ln.Addr().String(), 1, l.control())
	if err != nil {
		return nil, nil, fmt.Errorf("%w (is the interface lo up?)", err)
	}
	conn := conns[0]
	for {
		other, err := ln.Accept()
		if err != nil {
			conn.Close()
			return nil, nil, errors.Join(err, ctx.Err())
		}
		if other.RemoteAddr().String() == conn.LocalAddr().String() {
			return conn, other.(*net.TCPConn), nil
		}
		other.Close()
	}
}
