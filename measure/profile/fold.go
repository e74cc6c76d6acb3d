package profile

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"windtunnel/result"
)

// Fold makes a record of samples: stacks with names, as trees, small enough for a record. The kernel's functions are named
// by their addresses. It looks at the processes that were seen, so it is to be called soon.
func Fold(samples Samples, functions map[uint64]string, cell Cell) result.Profile {
	p := result.Profile{
		WindowSeconds: samples.Window.Seconds(), PeriodSeconds: Period.Seconds(), CPUs: samples.CPUs,
		Lost: samples.Lost,
	}
	if samples.NoIdle != nil {
		p.IdleMissing = samples.NoIdle.Error()
	}
	for _, idle := range samples.Idle {
		p.IdleSeconds = append(p.IdleSeconds, idle.Seconds())
	}
	return fold(p, samples.Seen, functions, newProcesses(cell).of)
}

// mostWhose is how many words there are for whose a task is: as many tasks hold what is one too many.
const mostWhose = 6

func fold(p result.Profile, seen []Seen, functions map[uint64]string, who func(id int, thread string) process) result.Profile {
	t, names := tree{known: map[call]int32{}}, newNaming(functions)
	roots := map[[2]string]int32{}
	p.Taken = p.Lost
	for _, s := range seen {
		process := who(s.Process, s.Thread)
		task := [2]string{shortened(process.name), process.whose}
		root, known := roots[task]
		if !known && len(roots) >= result.MaxProfileTasks-mostWhose {
			task[0] = "more"
			root, known = roots[task]
		}
		if !known {
			root = t.task()
			roots[task] = root
		}
		t.add(root, names.of(s, process.own), s.Count)
		p.Taken += s.Count
	}
	t.shorten(result.MaxProfileNames) // names are no more than frames, and the bound of those is lower
	p.Cut = min(t.cut, p.Taken)
	p.Tasks, p.Names = t.written(roots, names.list)
	return p
}

// naming numbers the names of frames.
type naming struct {
	functions map[uint64]string // the kernel's
	list      []string          // by their numbers
	numbers   map[string]int32
	kernel    map[uint64]int32 // by the functions' addresses
	user      map[uint64]int32 // of this program
	frames    []int32          // the last stack's
}

func newNaming(functions map[uint64]string) *naming {
	return &naming{functions: functions, numbers: map[string]int32{}, kernel: map[uint64]int32{}, user: map[uint64]int32{}}
}

// of are the names of a stack's frames, innermost first, until the next call. Programs of other people's have one frame.
func (n *naming) of(s Seen, own bool) []int32 {
	n.frames = n.frames[:0]
	for i, address := range s.Kernel {
		at := called(address, i)
		number, ok := n.kernel[at]
		if !ok {
			number = n.number(cmp.Or(n.functions[at], result.UnknownFrame))
			n.kernel[at] = number
		}
		n.frames = append(n.frames, number)
	}
	switch {
	case s.Late:
		return append(n.frames, n.number(result.LateFrame))
	case s.Rung:
		return n.interrupted()
	case len(s.User) > 0 && !own:
		return append(n.frames, n.number(result.UserFrame+result.UnknownFrame))
	case len(s.User)+len(s.Kernel) == 0:
		return append(n.frames, n.number(result.UnknownFrame))
	}
	for i, address := range s.User {
		at := called(address, i)
		number, ok := n.user[at]
		if !ok {
			number = n.number(result.UserFrame + cmp.Or(userName(at), result.UnknownFrame))
			n.user[at] = number
		}
		n.frames = append(n.frames, number)
	}
	return n.frames
}

// entering are the beginnings of what the kernel enters interrupts by, on x86-64 and arm64.
var entering = []string{"asm_sysvec_", "asm_common_interrupt", "el1h_64_irq"}

// interrupted is what of the last stack lies outside of its innermost interrupt.
func (n *naming) interrupted() []int32 {
	enters := func(number int32) bool {
		return slices.ContainsFunc(entering, func(start string) bool { return strings.HasPrefix(n.list[number], start) })
	}
	at := slices.IndexFunc(n.frames, enters)
	if at < 0 || at+1 == len(n.frames) {
		return append(n.frames[:0], n.number(result.UnknownFrame))
	}
	outside := n.frames[at+1:]
	for len(outside) > 1 && enters(outside[0]) { // arm64 has two such frames
		outside = outside[1:]
	}
	return outside
}

func (n *naming) number(name string) int32 {
	name = shortened(name)
	number, ok := n.numbers[name]
	if !ok {
		number = int32(len(n.list))
		n.numbers[name] = number
		n.list = append(n.list, name)
	}
	return number
}

// called is an address in the call itself: a caller's is where it goes on after that, and that may be the next
// function's if the call never returns.
func called(address uint64, place int) uint64 {
	if place > 0 && address > 0 {
		return address - 1
	}
	return address
}

// userName is a function of this very program: workers are the same program, and keep frame
// pointers (https://go.dev/doc/go1.7#compiler).
func userName(address uint64) string {
	if !fixed() {
		return ""
	}
	if f := runtime.FuncForPC(uintptr(address)); f != nil {
		return f.Name()
	}
	return ""
}

// fixed reports whether this program lies at the same addresses in all of its processes.
var fixed = sync.OnceValue(func() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-buildmode", Value: "exe"})
})

// shortened fits a record.
func shortened(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), result.MaxProfileName)], "?")
}
