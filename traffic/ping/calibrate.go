package ping

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// calibrationTime is how long a calibration counts in each of the two places of its far
// end, after a short warm-up.
const (
	calibrationTime   = 150 * time.Millisecond
	calibrationWarmUp = 30 * time.Millisecond
	calibrationStart  = 40 * time.Millisecond // until both ends stand
)

// Calibrate returns the transactions per second of the load's closed loop over the
// loopback device, with the asking end on the CPUs given. The answering one is on the
// same, and on all others where there are any: whichever is more, as on a path either
// may be so.
func (k Kind) Calibrate(ctx context.Context, given result.Options, cpus []int) (perSecond float64, err error) {
	perSecond, err = k.calibrate(ctx, given, cpus, cpus)
	if left := others(cpus); err == nil && left != nil {
		var apart float64
		apart, err = k.calibrate(ctx, given, cpus, left)
		perSecond = max(perSecond, apart)
	}
	return perSecond, err
}

// maxCPUs is CPU_SETSIZE of sched.h.
const maxCPUs = 1024

// others are the CPUs on which this process may run, without some; of none, none.
func others(cpus []int) (left []int) {
	if len(cpus) == 0 {
		return nil
	}
	for cpu := range maxCPUs {
		if traffic.HasCPU(cpu) && !slices.Contains(cpus, cpu) {
			left = append(left, cpu)
		}
	}
	return left
}

func (Kind) calibrate(ctx context.Context, given result.Options, near, far []int) (perSecond float64, err error) {
	l, err := parseLoad(given)
	if err != nil {
		return 0, err
	}
	closed := result.Options{}
	maps.Copy(closed, given)
	closed["message"], closed["response"] = int64(l.message), int64(l.response)
	delete(closed, "rate")
	delete(closed, "outstanding")
	delete(closed, "arrivals")
	receive, err := Kind{}.Prepare(ctx, traffic.Order{Role: traffic.Receive, Kind: "ping", Load: closed, Address: "127.0.0.1", CPUs: far})
	if err != nil {
		return 0, fmt.Errorf("calibrating: %w", err)
	}
	defer receive.Close()
	send, err := Kind{}.Prepare(ctx, traffic.Order{Role: traffic.Send, Kind: "ping", Load: closed, Address: receive.Address(), CPUs: near})
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
