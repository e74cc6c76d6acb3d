package main

import (
	"errors"
	"math"
	"testing"
	"time"

	"windtunnel/bench/wire"
	"windtunnel/measure/profile"
)

// machine is a load in virtual time, whose rate changes slowly by itself and with sampling.
type machine struct {
	now     time.Duration
	n       float64
	sampled bool
	starts  int
	taken   int
	ended   time.Duration // of the load; 0: never
}

const cost = 0.03

func (m *machine) Start() error                 { m.sampled = true; m.starts++; return nil }
func (m *machine) Stop() (time.Duration, error) { m.sampled = false; return time.Second, nil }
func (m *machine) Take(time.Duration) (profile.Samples, error) {
	m.taken++
	return profile.Samples{}, nil
}

func (m *machine) wait(d time.Duration) error {
	for end := m.now + d; m.now < end; m.now += time.Millisecond {
		rate := 1e9 * (1 + 0.1*m.now.Seconds()) // by the second
		if m.sampled {
			rate *= 1 - cost
		}
		if m.ended == 0 || m.now < m.ended {
			m.n += rate / 1000
		}
	}
	return nil
}

func (m *machine) rounds() rounds {
	return rounds{window: 250 * time.Millisecond, sampler: m, of: func(c wire.Count) uint64 { return c.TCP }, wait: m.wait,
		received: func() (wire.Count, error) { return wire.Count{At: m.now, TCP: uint64(m.n)}, nil }}
}

// TestRoundsFindWhatSamplingCosts, whichever comes first, while the load becomes 10 % faster a second.
func TestRoundsFindWhatSamplingCosts(t *testing.T) {
	for range 10 {
		m := &machine{}
		with, without, err := m.rounds().measure(order())
		if err != nil || math.Abs(with/without-(1-cost)) > 1e-4 {
			t.Errorf("%g with samples and %g without: %v", with, without, err)
		}
		if m.sampled || m.starts != 2 || m.taken != 2 {
			t.Errorf("%+v", m)
		}
	}
}

// TestBothOrdersCome: half of the windows are sampled, and neither order always.
func TestBothOrdersCome(t *testing.T) {
	seen := map[[windowsEach]bool]int{}
	for range 100 {
		seen[order()]++
	}
	if len(seen) != 2 || seen[[windowsEach]bool{true, false, false, true}] == 0 || seen[[windowsEach]bool{false, true, true, false}] == 0 {
		t.Errorf("%v", seen)
	}
}

// TestLoadsThatEndAreNoRound: nothing is made of a window without traffic, and the clocks are stopped.
func TestLoadsThatEndAreNoRound(t *testing.T) {
	m := &machine{ended: 5 * time.Millisecond}
	if with, without, err := m.rounds().measure(order()); err == nil {
		t.Errorf("%g and %g", with, without)
	}
	r := (&machine{}).rounds()
	m = r.sampler.(*machine)
	r.received = func() (wire.Count, error) { return wire.Count{}, errors.New("no such file") }
	if _, _, err := r.measure([windowsEach]bool{true, false, false, true}); err == nil || m.sampled {
		t.Errorf("%+v: %v", m, err)
	}
}
