package traffic

import "time"

// CrewTime is the time of an engine's hot threads of one role, since they began.
type CrewTime struct {
	Threads int
	CPU     time.Duration
	Wait    time.Duration // could run and had no CPU; 0 where the system does not tell
}

// Since is what was spent after an earlier reading.
func (c CrewTime) Since(o CrewTime) CrewTime {
	return CrewTime{Threads: c.Threads, CPU: max(0, c.CPU-o.CPU), Wait: max(0, c.Wait-o.Wait)}
}

// Add takes other threads in.
func (c *CrewTime) Add(o CrewTime) {
	c.Threads += o.Threads
	c.CPU += o.CPU
	c.Wait += o.Wait
}
