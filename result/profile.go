package result

import (
	"errors"
	"fmt"
	"math"
)

// Whose a task of a profile is.
const (
	OfCell   = "cell"   // a program of the cell, or a kernel thread that receives for it
	OfIdle   = "idle"   // nobody's: the CPU had nothing to do, unless it was interrupted
	OfKernel = "kernel" // a thread of the kernel's own: what it does says for whom
	OfUs     = "us"     // windtunnel, which measures
	OfOthers = "others" // a program that has no part in the cell
	OfEnded  = "ended"  // a program that ended before it was known
)

// The bounds of a profile: what is more is shortened by whoever makes one, and refused by whoever reads it.
const (
	MaxProfileTasks  = 500
	MaxProfileNames  = 4000
	MaxProfileFrames = 6000 // of all tasks
	MaxProfileDepth  = 256
	MaxProfileName   = 128 // bytes
	maxProfileText   = (MaxProfileTasks + MaxProfileNames) * MaxProfileName
)

// maxProfileReason bounds the reason for which there is none, in bytes.
const maxProfileReason = 4096

// UserFrame stands before the name of a frame that is not the kernel's.
const UserFrame = "user/"

// UnknownFrame is the name of a frame that has none.
const UnknownFrame = "[unknown]"

// LateFrame stands for the stack of a task that left the CPU when it was to be asked, before the clock rang.
const LateFrame = "[late]"

// Profile is what a node's CPUs were doing in a trial's window, whenever they were asked. Missing says why
// there is none.
type Profile struct {
	Record        string        `json:"record"`
	Cell          string        `json:"cell"`
	Block         int           `json:"block"`
	Attempt       int           `json:"attempt"`
	Node          string        `json:"node"`
	Missing       string        `json:"missing,omitempty"`
	WindowSeconds float64       `json:"window_seconds,omitempty"` // in which it was asked
	PeriodSeconds float64       `json:"period_seconds,omitempty"` // of a CPU's time, for which one sample stands
	CPUs          []int         `json:"cpus,omitempty"`
	Taken         uint64        `json:"taken,omitempty"`             // samples in all
	Lost          uint64        `json:"lost,omitempty"`              // of them, those that nothing is known of
	Cut           uint64        `json:"cut,omitempty"`               // of them, those whose stack was shortened to its outer frames
	IdleSeconds   []float64     `json:"idle_task_seconds,omitempty"` // in which each CPU's idle task had it, in the order of CPUs; none: not known
	IdleMissing   string        `json:"idle_task_missing,omitempty"` // why
	Tasks         []ProfileTask `json:"tasks,omitempty"`
	Names         []string      `json:"names,omitempty"` // of frames
}

// ProfileTask is what one program, or one thread of the kernel, was seen doing: a tree of frames, callers first.
type ProfileTask struct {
	Name   string         `json:"name"`
	Whose  string         `json:"whose"`
	Frames []ProfileFrame `json:"frames"`
}

// ProfileFrame is its caller's index in the task's frames (-1: none), its name's index in the profile's
// names, and how many samples found it innermost.
type ProfileFrame [3]int32

// Caller, Name and Samples are its parts.
func (f ProfileFrame) Caller() int  { return int(f[0]) }
func (f ProfileFrame) Name() int    { return int(f[1]) }
func (f ProfileFrame) Samples() int { return int(f[2]) }

// Check says why a profile from elsewhere is none.
func (p Profile) Check() error {
	if p.Missing != "" && len(p.Missing) <= maxProfileReason {
		if len(p.CPUs)+len(p.Tasks)+len(p.Names) > 0 {
			return errors.New("a profile that is missing, with tasks")
		}
		return nil
	}
	text := 0
	for _, name := range p.Names {
		text += len(name)
	}
	for _, t := range p.Tasks {
		text += len(t.Name) + len(t.Whose)
	}
	switch {
	case len(p.Missing) > maxProfileReason || len(p.IdleMissing) > maxProfileReason || text > maxProfileText:
		return errors.New("a profile with too much text")
	case !(p.PeriodSeconds > 0 && p.PeriodSeconds < 60 && p.WindowSeconds > 0) || math.IsInf(p.WindowSeconds, 1):
		return errors.New("a profile without a period or a window")
	case len(p.CPUs) == 0 || len(p.CPUs) > MaxProfileNames:
		return fmt.Errorf("a profile of %d CPUs", len(p.CPUs))
	case len(p.Tasks) > MaxProfileTasks || len(p.Names) > MaxProfileNames:
		return fmt.Errorf("a profile of %d tasks and %d names: at most %d and %d", len(p.Tasks), len(p.Names), MaxProfileTasks, MaxProfileNames)
	}
	if most := 2 * float64(len(p.CPUs)) * p.WindowSeconds / p.PeriodSeconds; float64(p.Taken) > most { // twice what CPUs can have
		return fmt.Errorf("a profile of %d samples in %g s of %d CPUs, one every %g s", p.Taken, p.WindowSeconds, len(p.CPUs), p.PeriodSeconds)
	}
	if err := p.checkIdle(); err != nil {
		return err
	}
	frames, samples := 0, p.Lost
	for _, t := range p.Tasks {
		if frames += len(t.Frames); frames > MaxProfileFrames {
			return fmt.Errorf("a profile of more than %d frames", MaxProfileFrames)
		}
		n, err := t.check(len(p.Names))
		if err != nil {
			return fmt.Errorf("the task %.32q of a profile: %w", t.Name, err)
		}
		samples += n
	}
	if samples != p.Taken || p.Cut > p.Taken {
		return fmt.Errorf("a profile of %d samples tells of %d", p.Taken, samples)
	}
	return nil
}

// checkIdle wants idle tasks to have their CPUs no longer than the window is.
func (p Profile) checkIdle() error {
	if n := len(p.IdleSeconds); n != 0 && n != len(p.CPUs) {
		return fmt.Errorf("a profile of %d CPUs with %d idle tasks", len(p.CPUs), n)
	}
	for i, idle := range p.IdleSeconds {
		if !(idle >= 0 && idle <= p.WindowSeconds) {
			return fmt.Errorf("a profile whose CPU %d idles for %g s of %g s", p.CPUs[i], idle, p.WindowSeconds)
		}
	}
	return nil
}

// check returns the task's samples.
func (t ProfileTask) check(names int) (samples uint64, err error) {
	depth := make([]int, len(t.Frames))
	for i, f := range t.Frames {
		switch {
		case f.Caller() < -1 || f.Caller() >= i:
			return 0, fmt.Errorf("frame %d has the caller %d, which is not before it", i, f.Caller())
		case f.Name() < 0 || f.Name() >= names:
			return 0, fmt.Errorf("frame %d has the name %d, of %d", i, f.Name(), names)
		case f.Samples() < 0 || f.Samples() > 1e9:
			return 0, fmt.Errorf("frame %d has %d samples", i, f.Samples())
		}
		if f.Caller() >= 0 {
			depth[i] = depth[f.Caller()] + 1
		}
		if depth[i] >= MaxProfileDepth {
			return 0, fmt.Errorf("frame %d lies deeper than %d", i, MaxProfileDepth)
		}
		samples += uint64(f.Samples())
	}
	return samples, nil
}
