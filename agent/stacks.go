//go:build linux

package agent

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"windtunnel/measure"
	"windtunnel/measure/profile"
	"windtunnel/result"
)

// stackSampler is the node's sampler of stacks: opened for the first trial that asks for it, and kept. Only one
// trial at a time has it.
type stackSampler struct {
	cpus []int

	mu     sync.Mutex
	busy   bool
	opened *profile.Sampler
}

// sampling is a trial's use of it. Missing says why there is none.
type sampling struct {
	sampler *stackSampler
	cell    profile.Cell
	window  time.Duration
	missing error
}

// sampleStacks makes the sampler ready for a cell.
func (n *node) sampleStacks(cell string, config measure.Config) *sampling {
	s := &sampling{}
	if n.config.Place != nil {
		s.missing = errors.New("the node is a place that runs already: which of its programs are the cell's is not known")
		return s
	}
	if s.cell, s.missing = n.belongs(cell, config); s.missing != nil {
		return s
	}
	if s.missing = n.stacks.take(); s.missing == nil {
		s.sampler = n.stacks
	}
	return s
}

// belongs says what belongs to a cell. In a host's own stack are all of its programs: there, those of the engine's
// containers and its proxies do.
func (n *node) belongs(cell string, config measure.Config) (profile.Cell, error) {
	c := profile.Cell{Networks: map[uint64]bool{}, Mounts: map[uint64]bool{}, Tasks: map[int]bool{}}
	for _, thread := range config.Receivers {
		c.Tasks[thread] = true
	}
	own, _ := n.graph(cell).Node(n.config.Name)
	for _, stack := range config.Stacks {
		if own.InPlace && stack.Place == own.Name {
			continue
		}
		err := stack.Do(func() error {
			network, err := profile.Network()
			c.Networks[network] = true
			return err
		})
		if err != nil {
			return c, fmt.Errorf("the stack %s: %w", stack.Place, err)
		}
	}
	if !own.InPlace || n.engines == nil {
		return c, nil
	}
	for _, running := range n.engines.all(cell) {
		for _, pid := range running.PIDs() {
			mounts, err := profile.Mounts(pid)
			if err != nil {
				return c, err
			}
			c.Mounts[mounts] = true
		}
		for _, proxy := range running.Proxies() {
			c.Tasks[proxy.PID] = true
		}
	}
	return c, nil
}

// take opens the sampler for a trial, which gives it back.
func (s *stackSampler) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return errors.New("another trial on this node is being sampled")
	}
	if s.opened == nil {
		opened, err := profile.Open(s.cpus)
		if err != nil {
			return err // which may pass: the next trial tries again
		}
		s.opened = opened
	}
	s.busy = true
	return nil
}

// start begins with the window, and stop ends with it. A trial that does not ask for samples has none of either.
func (s *sampling) start() {
	if s != nil && s.missing == nil {
		s.missing = s.sampler.opened.Start()
	}
}

func (s *sampling) stop() {
	if s != nil && s.missing == nil {
		s.window, s.missing = s.sampler.opened.Stop()
	}
}

// profile is what was seen; nil if nobody asked.
func (s *sampling) profile() *result.Profile {
	if s == nil {
		return nil
	}
	p, err := s.fold()
	if err != nil {
		return &result.Profile{Missing: err.Error()}
	}
	return &p
}

func (s *sampling) fold() (result.Profile, error) {
	if s.missing != nil {
		return result.Profile{}, s.missing
	}
	if s.window == 0 {
		return result.Profile{}, errors.New("the trial was cut off")
	}
	var samples profile.Samples
	if samples, s.missing = s.sampler.opened.Take(s.window); s.missing != nil {
		return result.Profile{}, s.missing
	}
	functions, err := s.sampler.opened.Names(samples.Seen)
	if err != nil {
		return result.Profile{}, err
	}
	return profile.Fold(samples, functions, s.cell), nil
}

// close gives the sampler back. One that is not at rest or not empty, because its trial was cut off
// or it could not be read, is not used again.
func (s *sampling) close() {
	if s == nil || s.sampler == nil {
		return
	}
	sampler := s.sampler
	sampler.mu.Lock()
	defer sampler.mu.Unlock()
	sampler.busy = false
	if s.window == 0 || s.missing != nil {
		_ = sampler.opened.Close()
		sampler.opened = nil
	}
}
