//go:build linux

package agent

import (
	"context"
	"testing"
	"time"

	"windtunnel/measure"
)

// TestALateReadingMakesNoEmptyIntervals: where the agent had to wait for its CPU, what it missed is one interval.
func TestALateReadingMakesNoEmptyIntervals(t *testing.T) {
	opened, err := measure.NewNode(measure.Config{CPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	p := &probes{node: opened}
	defer p.close()
	before, err := opened.Read()
	if err != nil {
		t.Fatal(err)
	}
	const every = 20 * time.Millisecond
	now := time.Now()
	readings, err := p.follow(context.Background(), before, now.Add(-10*every), now.Add(10*every), every)
	if err != nil || len(readings) < 2 {
		t.Fatalf("%d readings, %v", len(readings), err)
	}
	for _, i := range measure.Intervals(readings) {
		if i.To-i.From < every.Seconds()/2 {
			t.Errorf("an interval of %g s", i.To-i.From)
		}
	}
}
