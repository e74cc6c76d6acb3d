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
	calibrationSample = 30 * time.Millisecond
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
	when := traffic.Schedule{Start: time.Now().Add(calibrationStart), WarmUp: calibrationWarmUp, Window: calibrationTime, Interval: calibrationSample}
	answers := when
	answers.Interval = 0
	var answering sync.WaitGroup
	var other error
	answering.Go(func() { _, other = receive.Run(ctx, answers) })
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
	return ownRate(end)
}

// flatOut is from which share of its threads' time on, with that in which they could run and had no CPU, an end asks as fast as it can.
const flatOut = 0.9

// ownRate is what an end that asked reaches by itself, in transactions per second: as fast as in the fastest of its samples, since others
// may have had either end's CPU in the rest. Threads that are never without something to do are counted by the time that they had a CPU,
// as senders of datagrams are; the others' waits for one are mostly what waking up takes, which is a part of each transaction.
func ownRate(end result.PairEnd) (perSecond float64, err error) {
	window := inTime(end.WindowSeconds)
	spent := traffic.CrewTime{Threads: end.Threads, CPU: inTime(end.CPUSeconds), Wait: inTime(end.Offered.WaitSeconds)}
	if spent.CPU+spent.Wait >= time.Duration(flatOut*float64(end.Threads)*float64(window)) {
		if perSecond, err = spent.OwnRate(end.Packets, window); err != nil {
			return 0, err
		}
	}
	for _, i := range end.Intervals {
		if long := i.To - i.From; i.From >= 0 && long >= calibrationSample.Seconds()/2 {
			perSecond = max(perSecond, float64(i.InTime())/long)
		}
	}
	return max(perSecond, float64(end.Packets)/end.WindowSeconds), nil
}

func inTime(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
