package profile

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// idleTasks follows when CPUs' idle tasks have them, and takes their samples where the clock's timer expires.
type idleTasks struct {
	links   []link.Link
	missing error // why it does not
}

// followIdle attaches the programs. Without them stacks are sampled all the same, the idle task's where the kernel does that.
func followIdle(objects *stacksObjects) (idle idleTasks) {
	for _, at := range []struct {
		tracepoint string
		program    *ebpf.Program
	}{{"sched_switch", objects.StacksSwitched}, {"hrtimer_expire_entry", objects.StacksExpired}} {
		attached, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: at.tracepoint, Program: at.program})
		if err != nil {
			idle.missing = errors.Join(fmt.Errorf("following idle tasks: the tracepoint %s: %w", at.tracepoint, err), idle.close())
			return idle
		}
		idle.links = append(idle.links, attached)
	}
	return idle
}

func (i *idleTasks) close() (failed error) {
	for _, attached := range i.links {
		failed = errors.Join(failed, attached.Close())
	}
	i.links = nil
	return failed
}

// idled is how long each CPU's idle task had it in the last window.
func (s *Sampler) idled() ([]time.Duration, error) {
	if s.idle.missing != nil {
		return nil, s.idle.missing
	}
	var known []stacksStacksCpu
	if err := s.objects.StacksCpus.Lookup(uint32(0), &known); err != nil {
		return nil, fmt.Errorf("following idle tasks: reading how long they had the CPUs: %w", err)
	}
	all := make([]time.Duration, 0, len(s.cpus))
	for _, cpu := range s.cpus {
		if cpu >= len(known) {
			return nil, fmt.Errorf("following idle tasks: there is no CPU %d", cpu)
		}
		one, err := known[cpu].idled(s.began, s.ended)
		if err != nil {
			return nil, fmt.Errorf("following idle tasks: CPU %d: %w", cpu, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// idled is how long the idle task had the CPU in a window.
func (c stacksStacksCpu) idled(began, ended time.Duration) (time.Duration, error) {
	switch {
	case c.Missed == uint64(began):
		return 0, errors.New("a switch from its idle task was not told")
	case c.Window != uint64(began):
		return 0, errors.New("nothing was seen of it in the window")
	}
	idled := time.Duration(c.Idled)
	if idled < 0 { // it has it still
		idled += ended
	}
	return min(max(idled, 0), ended-began), nil
}
