package oneoff

import (
	"context"
	"fmt"
	"slices"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// calibrationPatience bounds a calibration; without one there is only less to
// judge by.
const calibrationPatience = 20 * time.Second

// calibrate returns what the generator reaches by itself: from the store, or
// measured now and kept. 0: it is not known.
func calibrate(ctx context.Context, kind traffic.Kind, config SendConfig, show Show) float64 {
	calibrator, ok := kind.(traffic.Calibrator)
	if !ok || !config.Calibrations.Wanted() {
		return 0
	}
	key := config.generator(kind)
	if known, ok := config.Calibrations.Get(key); ok {
		return known
	}
	show.say("calibrating: what this machine's generator reaches without a path (once for these options; --no-calibrate leaves it out)")
	ctx, cancel := context.WithTimeout(ctx, calibrationPatience)
	defer cancel()
	measured, err := calibrator.Calibrate(ctx, config.Load, config.CPUs)
	if err != nil {
		show.say("not calibrated: %v", err)
		return 0
	}
	if err := config.Calibrations.Put(key, measured); err != nil {
		show.say("%v; the next run calibrates again", err)
	}
	return measured
}

// generator names what is calibrated.
func (c SendConfig) generator(kind traffic.Kind) string { return generatorKey(kind, c.Load, c.CPUs) }

// generatorKey names this machine's generator of a load.
func generatorKey(kind traffic.Kind, load result.Options, cpus []int) string {
	machine := traffic.Machine() + ", unpinned"
	if len(cpus) > 0 {
		machine = fmt.Sprintf("%s, pinned to %d CPUs", traffic.Machine(), len(slices.Compact(slices.Sorted(slices.Values(cpus)))))
	}
	return traffic.CalibrationKey(machine, kind.Name(), kind.Options(), load)
}

// tellCalibration adds to what a receiver sent itself what its generator is known to reach. It measures nothing, which could disturb
// other senders' measurements.
func (s *session) tellCalibration(end *result.PairEnd) {
	for ; end != nil; end = end.Opposite {
		if end.Offered == nil {
			continue
		}
		if known, ok := s.server.Calibrations.Get(generatorKey(s.kind, s.load, s.server.config.CPUs)); ok {
			end.Offered.CalibratedPerSecond = known
		}
	}
}

// noteCalibration keeps it with what the sender offered. A sender that was faster
// shows that the machine was busy with other things when it was calibrated: then
// this is what it reaches, unless its window was cut, and may be of any length.
func (c SendConfig) noteCalibration(kind traffic.Kind, sender *result.PairEnd, calibrated float64, cut bool) {
	if !traffic.Calibrated(*sender) {
		return
	}
	if sender.Offered == nil {
		sender.Offered = &result.Offered{}
	}
	sender.Offered.CalibratedPerSecond = calibrated
	if perSecond := sender.PerSecond(); perSecond > calibrated && !cut {
		_ = c.Calibrations.Put(c.generator(kind), perSecond) // else the next run does
	}
}
