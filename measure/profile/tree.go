package profile

import (
	"cmp"
	"maps"
	"slices"

	"windtunnel/result"
)

// tree are the stacks of tasks, as calls that they share. Names are numbers. A frame's caller is before it.
type tree struct {
	frames []frame
	known  map[call]int32
	cut    uint64 // samples whose frames were given to their callers
}

// frame is a call. A task has one without a name, which all of its outermost calls are of.
type frame struct {
	call
	own  uint64 // samples that found it innermost
	all  uint64 // and those of what it called
	gone bool
}

type call struct{ caller, name int32 }

// noCaller is of a task's frame.
const noCaller = -1

// task begins one, and returns its frame.
func (t *tree) task() int32 {
	t.frames = append(t.frames, frame{call: call{caller: noCaller}})
	return int32(len(t.frames) - 1)
}

// add counts a stack of a task; its names are innermost first.
func (t *tree) add(task int32, names []int32, count uint64) {
	at := task
	t.frames[at].all += count
	for _, name := range slices.Backward(names[max(0, len(names)-result.MaxProfileDepth):]) {
		next, ok := t.known[call{at, name}]
		if !ok {
			next = int32(len(t.frames))
			t.frames = append(t.frames, frame{call: call{at, name}})
			t.known[call{at, name}] = next
		}
		at = next
		t.frames[at].all += count
	}
	t.frames[at].own += count
}

// shorten cuts stacks until so many frames are left: those with few samples give them to their callers. Outermost frames stay.
func (t *tree) shorten(most int) {
	for least := uint64(2); t.size() > most && least <= 1<<40; least += least/4 + 1 {
		for i := range t.frames {
			f := &t.frames[i]
			if f.gone || f.caller == noCaller {
				continue
			}
			caller := &t.frames[f.caller]
			switch {
			case caller.gone:
				f.gone = true
			case f.all < least && caller.caller != noCaller:
				f.gone = true
				caller.own += f.all
				t.cut += f.all
			}
		}
	}
}

// size is the number of frames that are left, but for the tasks' own.
func (t *tree) size() (n int) {
	for _, f := range t.frames {
		if !f.gone && f.caller != noCaller {
			n++
		}
	}
	return n
}

// written are the tasks by their frames, those with the most samples first, and the names that they have of the list: callers
// stand before what they called, which is in the order of names.
func (t *tree) written(roots map[[2]string]int32, list []string) (tasks []result.ProfileTask, names []string) {
	calls := make([][]int32, len(t.frames))
	for i, f := range t.frames {
		if !f.gone && f.caller != noCaller {
			calls[f.caller] = append(calls[f.caller], int32(i))
		}
	}
	for _, some := range calls {
		slices.SortFunc(some, func(a, b int32) int { return cmp.Compare(list[t.frames[a].name], list[t.frames[b].name]) })
	}
	numbers := map[int32]int32{}
	for _, task := range t.sorted(roots) {
		one := result.ProfileTask{Name: task[0], Whose: task[1]}
		var write func(caller, written int32)
		write = func(caller, written int32) {
			for _, i := range calls[caller] {
				f := t.frames[i]
				number, known := numbers[f.name]
				if !known {
					number = int32(len(names))
					numbers[f.name] = number
					names = append(names, list[f.name])
				}
				one.Frames = append(one.Frames, result.ProfileFrame{written, number, int32(f.own)})
				write(i, int32(len(one.Frames)-1))
			}
		}
		write(roots[task], noCaller)
		tasks = append(tasks, one)
	}
	return tasks, names
}

// sorted have the tasks with the most samples first.
func (t *tree) sorted(roots map[[2]string]int32) [][2]string {
	return slices.SortedFunc(maps.Keys(roots), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(t.frames[roots[b]].all, t.frames[roots[a]].all), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
}
