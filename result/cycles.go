package result

import "time"

// Cycles are those of a core that polls in the window. All workers that the core serves share
// them, so each of them has the same.
type Cycles struct {
	Sending   uint64 `json:"sending"`   // spent where frames were sent
	Receiving uint64 `json:"receiving"` // spent where frames had come
	Idle      uint64 `json:"idle"`      // the rest
	Hertz     uint64 `json:"hertz"`     // cycles a second
}

// Since subtracts an earlier reading.
func (c Cycles) Since(before Cycles) Cycles {
	return Cycles{
		Sending: c.Sending - before.Sending, Receiving: c.Receiving - before.Receiving,
		Idle: c.Idle - before.Idle, Hertz: c.Hertz,
	}
}

// BusyTime is how long the core had something to do.
func (c Cycles) BusyTime() time.Duration {
	if c.Hertz == 0 {
		return 0
	}
	return time.Duration(float64(c.Sending+c.Receiving) / float64(c.Hertz) * float64(time.Second))
}
