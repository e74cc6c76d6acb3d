package ping

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// calibrationTime is how long a calibration counts, after a short warm-up.
const (
	calibrationTime   = 300 * time.Millisecond
	calibrationWarmUp = 30 * time.Millisecond
	calibrationStart  = 40 * time.Millisecond // until both ends stand
)

// Calibrate returns the transactions per second of the load's closed loop over the
// loopback device, with both ends on the CPUs given.
func (Kind) Calibrate(ctx context.Context, given result.Options, cpus []int) (perSecond float64, err error) {
	l, err := parseLoad(given)
	if err != nil {
		return 0, err
	}
	closed := result.Options{}
	maps.Copy(closed, given)
	closed["message"], closed["response"] = int64(l.message), int64(l.response)
	delete(closed, "rate")
	delete(closed, "outstanding")
	receive, err := Kind{}.Prepare(ctx, traffic.Order{Role: traffic.Receive, Kind: "ping", Load: closed, Address: "127.0.0.1", CPUs: cpus})
	if err != nil {
		return 0, fmt.Errorf("calibrating: %w", err)
	}
	defer receive.Close()
	send, err := Kind{}.Prepare(ctx, traffic.Order{Role: traffic.Send, Kind: "ping", Load: closed, Address: receive.Address(), CPUs: cpus})
	if err != nil {
		return 0, fmt.Errorf("calibrating: %w", err)
	}
	defer send.Close()
	when := traffic.Schedule{Start: time.Now().Add(calibrationStart), WarmUp: calibrationWarmUp, Window: calibrationTime}
	var answering sync.WaitGroup
	var other error
	answering.Go(func() { _, other = receive.Run(ctx, when) })
	end, err := send.Run(ctx, when)
	answering.Wait()
	switch {
	case err != nil:
		return 0, fmt.Errorf("calibrating: %w", err)
	case other != nil:
		return 0, fmt.Errorf("calibrating: %w", other)
	case end.Error != "":
		return 0, fmt.Errorf("calibrating: %s", end.Error)
	}
	return float64(end.Packets) / end.WindowSeconds, nil
}
