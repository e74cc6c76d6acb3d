package profile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// Period is a CPU's time from one sample to the next. It shares no divisor with the periods of ticks (1, 4 and
// 10 ms) and of timers that people set, so that samples do not keep step with them. A sample costs some 20 us where
// timers are a hypervisor's (most of that is the timer itself), so more of them would cost the traffic 2 %.
const Period = 2_503_009 * time.Nanosecond

// atOnce is how many stacks are read by one call: more than one of the kernel's buckets may hold, of which there are
// as many as stacks (htab_map_alloc in kernel/bpf/hashtab.c).
const atOnce = 256

// Sampler has the clocks and the counts of some CPUs. One goroutine at a time.
type Sampler struct {
	cpus    []int
	objects stacksObjects
	clocks  []int // perf events
	began   time.Time
	keys    []stacksStacksKey // what Take reads into
	stacks  []stacksStacksStack
}

// Samples are what a sampler saw between Start and Stop.
type Samples struct {
	CPUs   []int
	Window time.Duration
	Lost   uint64 // samples that nothing is known of
	Seen   []Seen
}

// Seen is one stack of one program, as addresses, innermost first, and how often it was there. Both stacks are empty
// where the stack was lost.
type Seen struct {
	Process int    // 0: the CPU's idle task
	Thread  string // the name of the thread
	Kernel  []uint64
	User    []uint64 // of a program that was not in the kernel
	Count   uint64
}

// Open loads the program and sets the clocks up, without starting them. An error says what the machine lacks.
func Open(cpus []int) (*Sampler, error) {
	if len(cpus) == 0 {
		return nil, errors.New("sampling stacks: no CPUs")
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("sampling stacks: lifting the limit on locked memory: %w", err)
	}
	s := &Sampler{cpus: slices.Clone(cpus), keys: make([]stacksStacksKey, atOnce), stacks: make([]stacksStacksStack, atOnce)}
	if err := loadStacksObjects(&s.objects, nil); err != nil {
		return nil, fmt.Errorf("sampling stacks: loading the BPF program: %w", withoutLog(err))
	}
	for _, cpu := range cpus {
		clock, err := openClock(cpu, s.objects.StacksSample)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.clocks = append(s.clocks, clock)
	}
	if err := s.nameless(); err != nil {
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

// openClock sets up the clock of a CPU, which has the program run whenever it rings.
func openClock(cpu int, program *ebpf.Program) (int, error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(Period),
		Bits:   unix.PerfBitDisabled,
	}
	clock, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("sampling stacks: a perf event on CPU %d (kernel.perf_event_paranoid, CONFIG_PERF_EVENTS): %w", cpu, err)
	}
	if err := unix.IoctlSetInt(clock, unix.PERF_EVENT_IOC_SET_BPF, program.FD()); err != nil {
		unix.Close(clock)
		return -1, fmt.Errorf("sampling stacks: a BPF program for a perf event (CONFIG_BPF_EVENTS): %w", err)
	}
	return clock, nil
}

// Start lets the clocks ring.
func (s *Sampler) Start() error {
	s.began = time.Now()
	return s.all(unix.PERF_EVENT_IOC_ENABLE)
}

// Stop ends what Start began. What was seen waits for Take.
func (s *Sampler) Stop() (window time.Duration, err error) {
	window = time.Since(s.began)
	return window, s.all(unix.PERF_EVENT_IOC_DISABLE)
}

func (s *Sampler) all(order uint) error {
	var failed error
	for i, clock := range s.clocks {
		if err := unix.IoctlSetInt(clock, order, 0); err != nil {
			failed = errors.Join(failed, fmt.Errorf("sampling stacks: the clock of CPU %d: %w", s.cpus[i], err))
		}
	}
	return failed
}

// Take returns what was seen while the clocks rang, a window long, and forgets it.
func (s *Sampler) Take(window time.Duration) (Samples, error) {
	all := Samples{CPUs: s.cpus, Window: window}
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
	if key.User != 0 {
		s.User = frames
	} else {
		s.Kernel = frames
	}
	return s
}

// Close ends the clocks and frees the tables.
func (s *Sampler) Close() error {
	for _, clock := range s.clocks {
		unix.Close(clock)
	}
	s.clocks = nil
	return s.objects.Close()
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
