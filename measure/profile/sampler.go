package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"windtunnel/ktime"
)

// atOnce is how many stacks are read by one call: more than one of the kernel's buckets may hold, of which there are
// as many as stacks (htab_map_alloc in kernel/bpf/hashtab.c).
const atOnce = 256

// Sampler has the clocks and the counts of some CPUs. One goroutine at a time.
type Sampler struct {
	cpus    []int
	objects stacksObjects
	clocks  []int // perf events
	leaders []int // of them, those by which each CPU's are ordered
	idle    idleTasks
	kernel  ktime.Clock
	began   time.Duration // by kernel
	ended   time.Duration
	keys    []stacksStacksKey // what Take reads into
	stacks  []stacksStacksStack
}

// Samples are what a sampler saw between Start and Stop.
type Samples struct {
	CPUs   []int
	Window time.Duration
	Lost   uint64 // samples that nothing is known of
	Seen   []Seen
	Idle   []time.Duration // in which each CPU's idle task had it, interrupts' work included; nil: not known
	NoIdle error           // why
}

// Seen is one stack of one program, as addresses, innermost first, and how often it was there. Both stacks are empty
// where the stack was lost.
type Seen struct {
	Process int    // 0: the CPU's idle task
	Thread  string // the name of the thread
	Kernel  []uint64
	User    []uint64 // of a program that was not in the kernel
	Rung    bool     // the kernel's stack has that of the interrupt inside which asked
	Late    bool     // no stack: the clock was due before the task left the CPU, and rang after that
	Count   uint64
}

// Open loads the programs and sets the clocks up. They ring already, and nothing is counted: at the first window's beginning each is
// anywhere in its period then, and known. From its end on they rest until the next one. An error says what the machine lacks.
func Open(cpus []int) (*Sampler, error) {
	if len(cpus) == 0 {
		return nil, errors.New("sampling stacks: no CPUs")
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("sampling stacks: lifting the limit on locked memory: %w", err)
	}
	s := &Sampler{cpus: slices.Clone(cpus), kernel: ktime.Open(), keys: make([]stacksStacksKey, atOnce), stacks: make([]stacksStacksStack, atOnce)}
	if err := loadStacksObjects(&s.objects, nil); err != nil {
		return nil, fmt.Errorf("sampling stacks: loading the BPF program: %w", withoutLog(err))
	}
	if err := s.openClocks(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.nameless(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.idle = followIdle(&s.objects)
	if err := s.all(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// withoutLog is an error of loading, without the verifier's many lines.
func withoutLog(err error) error {
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) {
		return refused.Cause
	}
	return err
}

// Start lets the clocks ring, and then begins to count.
func (s *Sampler) Start() error {
	if err := s.all(unix.PERF_EVENT_IOC_ENABLE); err != nil {
		return err
	}
	s.began, s.ended = s.kernel.Now(), 0
	if err := s.objects.StacksWindow.Put(uint32(0), uint64(s.began)); err != nil {
		return fmt.Errorf("sampling stacks: beginning a window: %w", err)
	}
	return nil
}

// Stop ends what Start began. What was seen waits for Take.
func (s *Sampler) Stop() (window time.Duration, err error) {
	s.ended = s.kernel.Now()
	err = s.objects.StacksWindow.Put(uint32(0), uint64(0))
	return s.ended - s.began, errors.Join(err, s.all(unix.PERF_EVENT_IOC_DISABLE))
}

// Take returns what was seen while the clocks rang, a window long, and forgets it.
func (s *Sampler) Take(window time.Duration) (Samples, error) {
	all := Samples{CPUs: s.cpus, Window: window}
	all.Idle, all.NoIdle = s.idled()
	if err := s.objects.StacksLost.Lookup(uint32(0), &all.Lost); err != nil {
		return all, fmt.Errorf("sampling stacks: reading how many were lost: %w", err)
	}
	if err := s.objects.StacksLost.Put(uint32(0), uint64(0)); err != nil {
		return all, fmt.Errorf("sampling stacks: beginning anew: %w", err)
	}
	var from ebpf.MapBatchCursor
	for last := false; !last; {
		n, err := s.objects.StacksSeen.BatchLookupAndDelete(&from, s.keys, s.stacks, nil)
		last = errors.Is(err, ebpf.ErrKeyNotExist)
		if err != nil && !last {
			return all, fmt.Errorf("sampling stacks: reading them: %w", err)
		}
		for i, key := range s.keys[:n] {
			all.Seen = append(all.Seen, seen(key, &s.stacks[i]))
		}
	}
	return all, nil
}

func seen(key stacksStacksKey, stack *stacksStacksStack) Seen {
	s := Seen{Process: int(key.Process), Thread: text(key.Name[:]), Count: stack.Count}
	frames := slices.Clone(stack.Frames[:min(int(key.Depth), len(stack.Frames))])
	switch key.Kind {
	case kindLate:
		s.Late = true
	case kindUser:
		s.User = frames
	default:
		s.Kernel, s.Rung = frames, key.Kind == kindRing
	}
	return s
}

// Kinds of stacks: enum stacks_kind of stacks.bpf.c.
const (
	kindUser = 1
	kindRing = 2
	kindLate = 3
)

// Close ends the clocks and frees the tables.
func (s *Sampler) Close() error {
	for _, clock := range s.clocks {
		unix.Close(clock)
	}
	s.clocks, s.leaders = nil, nil
	return errors.Join(s.idle.close(), s.objects.Close())
}

// text is a name that the kernel fills up with zeros.
func text(name []int8) string {
	b := make([]byte, len(name))
	for i, c := range name {
		b[i] = byte(c)
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
