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

// Fold makes a record of samples: stacks with names, as trees, small enough for a record. It looks at the processes
// that were seen, so it is to be called soon.
func Fold(samples Samples, symbols *Symbols, cell Cell) result.Profile {
	p := result.Profile{
		WindowSeconds: samples.Window.Seconds(), PeriodSeconds: Period.Seconds(), CPUs: samples.CPUs,
		Lost: samples.Lost,
	}
	return fold(p, samples.Seen, symbols, newProcesses(cell).of)
}

// mostWhose is how many words there are for whose a task is: as many tasks hold what is one too many.
const mostWhose = 6

func fold(p result.Profile, seen []Seen, symbols *Symbols, who func(id int, thread string) process) result.Profile {
	roots := map[[2]string]*frame{}
	p.Taken = p.Lost
	for _, s := range seen {
		process := who(s.Process, s.Thread)
		task := [2]string{shortened(process.name), process.whose}
		if roots[task] == nil && len(roots) >= result.MaxProfileTasks-mostWhose {
			task[0] = "more"
		}
		if roots[task] == nil {
			roots[task] = &frame{}
		}
		roots[task].add(named(s, symbols, process.own), s.Count)
		p.Taken += s.Count
	}
	p.Cut = min(cut(roots), p.Taken)
	names := map[string]int32{}
	for _, task := range sortedTasks(roots) {
		t := result.ProfileTask{Name: task[0], Whose: task[1]}
		roots[task].write(&t, -1, names, &p.Names)
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

// named are a stack's names, outermost first. Programs of other people's have one frame.
func named(s Seen, symbols *Symbols, own bool) []string {
	var names []string
	add := func(name string) {
		names = append(names, shortened(cmp.Or(name, result.UnknownFrame)))
	}
	switch {
	case len(s.User) > 0 && !own:
		return []string{result.UserFrame + result.UnknownFrame}
	case len(s.User) > 0:
		for i, address := range s.User {
			add(result.UserFrame + cmp.Or(userName(called(address, i)), result.UnknownFrame))
		}
	case len(s.Kernel) == 0:
		add("")
	}
	for i, address := range s.Kernel {
		add(symbols.Name(called(address, i)))
	}
	slices.Reverse(names)
	return names
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

// frame is a node of a tree that grows.
type frame struct {
	name   string
	own    uint64 // samples that found it innermost
	all    uint64 // and those of what it called
	called map[string]*frame
}

// add counts a stack; its names are outermost first.
func (f *frame) add(names []string, count uint64) {
	names = names[:min(len(names), result.MaxProfileDepth)]
	for f.all += count; len(names) > 0; names = names[1:] {
		if f.called == nil {
			f.called = map[string]*frame{}
		}
		next := f.called[names[0]]
		if next == nil {
			next = &frame{name: names[0]}
			f.called[names[0]] = next
		}
		f = next
		f.all += count
	}
	f.own += count
}

// size is the number of frames below.
func (f *frame) size() int {
	n := len(f.called)
	for _, c := range f.called {
		n += c.size()
	}
	return n
}

// cut shortens stacks until all trees fit: frames with few samples give them to their callers. It returns how many
// samples that were. Names are no more than frames, and the bound of those is lower.
func cut(roots map[[2]string]*frame) (samples uint64) {
	size := func() (n int) {
		for _, root := range roots {
			n += root.size()
		}
		return n
	}
	for least := uint64(2); size() > result.MaxProfileNames; least += least/4 + 1 {
		for _, root := range roots {
			for _, outermost := range root.called {
				samples += outermost.cut(least)
			}
		}
		if least > 1<<40 {
			break
		}
	}
	return samples
}

func (f *frame) cut(least uint64) (samples uint64) {
	for name, c := range f.called {
		if c.all < least {
			f.own += c.all
			samples += c.all
			delete(f.called, name)
			continue
		}
		samples += c.cut(least)
	}
	return samples
}

// write appends what f called, callers first, in the order of names.
func (f *frame) write(t *result.ProfileTask, caller int32, names map[string]int32, list *[]string) {
	called := make([]*frame, 0, len(f.called))
	for _, c := range f.called {
		called = append(called, c)
	}
	slices.SortFunc(called, func(a, b *frame) int { return cmp.Compare(a.name, b.name) })
	for _, c := range called {
		number, known := names[c.name]
		if !known {
			number = int32(len(*list))
			names[c.name] = number
			*list = append(*list, c.name)
		}
		t.Frames = append(t.Frames, result.ProfileFrame{caller, number, int32(c.own)})
		c.write(t, int32(len(t.Frames)-1), names, list)
	}
}

// sortedTasks have those with the most samples first.
func sortedTasks(roots map[[2]string]*frame) [][2]string {
	tasks := make([][2]string, 0, len(roots))
	for task := range roots {
		tasks = append(tasks, task)
	}
	slices.SortFunc(tasks, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(roots[b].all, roots[a].all), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	return tasks
}
