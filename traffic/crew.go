package traffic

import (
	"errors"
	"slices"
	"time"
)

// CrewTime is the time of an engine's hot threads of one role, since they began.
type CrewTime struct {
	Threads int
	CPU     time.Duration
	Wait    time.Duration // could run and had no CPU; 0 where the system does not tell

	each  []time.Duration // CPU by thread, in the order in which they were added
	waits []time.Duration // Wait, likewise
}

// ThreadTime is one thread's.
func ThreadTime(cpu, wait time.Duration) CrewTime {
	return CrewTime{Threads: 1, CPU: cpu, Wait: wait, each: []time.Duration{cpu}, waits: []time.Duration{wait}}
}

// Since is what was spent after an earlier reading of the same threads.
func (c CrewTime) Since(o CrewTime) CrewTime {
	spent := CrewTime{Threads: c.Threads, CPU: max(0, c.CPU-o.CPU), Wait: max(0, c.Wait-o.Wait), each: slices.Clone(c.each)}
	for i := range min(len(c.each), len(o.each)) {
		spent.each[i] = max(0, spent.each[i]-o.each[i])
	}
	return spent
}

// Had is for how long of a window a thread had a CPU, or waited for something else, on average: what a generator reaches by itself
// is counted by that, since a calibration may share its CPUs with others. A wait is told when it ends, also of what lay before the
// window, and so the CPU time is the least.
func (c CrewTime) Had(window time.Duration) time.Duration {
	each := time.Duration(max(1, c.Threads))
	return max(window-c.Wait/each, c.CPU/each)
}

// OwnRate is what a generator moved in a window by the second of the time that it Had; an error where it had none.
func (c CrewTime) OwnRate(moved uint64, window time.Duration) (float64, error) {
	had := c.Had(window)
	if had <= 0 {
		return 0, errors.New("calibrating: the senders had no CPU")
	}
	return float64(moved) / had.Seconds(), nil
}

// Busiest is the CPU time of the thread that has most; 0 of one thread alone, whose time is all.
func (c CrewTime) Busiest() time.Duration {
	if len(c.each) < 2 {
		return 0
	}
	return slices.Max(c.each)
}

// Add takes other threads in.
func (c *CrewTime) Add(o CrewTime) {
	c.Threads += o.Threads
	c.CPU += o.CPU
	c.Wait += o.Wait
	c.each = append(c.each, o.each...)
	c.waits = append(c.waits, o.waits...)
}

// Waiting is for how long, at the least, threads had waited for a CPU at this reading that had none then: a wait is told when it ends
// (sched_info_arrive in kernel/sched/stats.h). A later reading of the same threads, so long after this one, tells of more than fits between.
func (c CrewTime) Waiting(later CrewTime, after time.Duration) (waited time.Duration) {
	for i := range min(len(c.waits), len(later.waits)) {
		waited += max(0, later.waits[i]-c.waits[i]-after)
	}
	return waited
}
