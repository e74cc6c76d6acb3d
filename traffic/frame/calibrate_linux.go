package frame

import (
	"context"
	"fmt"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// calibrationTime is for how long the generator runs into its null sink.
const calibrationTime = 300 * time.Millisecond

// Calibrate tells how many frames a second the sender's threads make when each is
// dropped as soon as its headers are written, by the time that they had a CPU: live frames that go nowhere. An
// AF_PACKET socket has no such sink, so method af-packet is refused.
func (Kind) Calibrate(ctx context.Context, given result.Options, cpus []int) (float64, error) {
	l, err := parseLoad(unpaced(given))
	if err != nil {
		return 0, err
	}
	if l.method == byPacket {
		return 0, fmt.Errorf("there is no null sink for method %s: only live frames can be dropped as they are made", byPacket)
	}
	h := header{
		from: benchmarkIPv4, to: benchmarkIPv4, port: 9, session: newSession(),
		sizes: l.sizes, addresses: l.addresses,
	}
	if err := fits(l.sizes, false, largestFrame); err != nil {
		return 0, err
	}
	sources, err := newSources(byXDP, h, l, device{})
	if err != nil {
		return 0, err // of a privilege that is missing, whoever sends is told what to do
	}
	perSecond, err := timeSources(ctx, sources, cpus)
	if closed := closeSources(sources); err == nil {
		err = closed
	}
	return perSecond, err
}

func timeSources(ctx context.Context, sources []source, cpus []int) (float64, error) {
	now := time.Now()
	c := &course{when: traffic.Schedule{Start: now, Window: time.Hour}}
	e := newEngine(sources, cpus, false)
	defer e.halt()
	c.broken, c.failure = e.ended, e.failure
	if err := c.sleep(ctx, now.Add(lead)); err != nil {
		return 0, err
	}
	e.release()
	if err := c.sleep(ctx, time.Now().Add(calibrationTime/10)); err != nil {
		return 0, err
	}
	before, _ := e.counts(warmUp)
	began := e.usage()
	if err := c.sleep(ctx, began.at.Add(calibrationTime)); err != nil {
		return 0, err
	}
	sent, _ := e.counts(warmUp)
	if sent == before {
		return 0, fmt.Errorf("no frame was made in %s", calibrationTime)
	}
	used := e.usage()
	return used.spent.Since(began.spent).OwnRate(sent-before, used.at.Sub(began.at))
}
