package analysis

import (
	"cmp"
	"slices"
	"strings"

	"windtunnel/result"
)

// Flame is where a cell's CPU time on a node went, call by call, over all of its trials.
type Flame struct {
	Node   string
	Trials int
	Root   *FlameFrame
}

// FlameFrame is a function in one place of the call tree, in CPU seconds as sampled. Those below a root are
// programs and threads; idle time is left out.
type FlameFrame struct {
	Name    string
	Layer   Layer
	Seconds float64 // with all that it called
	Own     float64 // without
	called  map[string]*FlameFrame
}

func newFlame() *FlameFrame { return &FlameFrame{Name: "all"} }

// Called are the frames that a frame called, by name.
func (f *FlameFrame) Called() []*FlameFrame {
	all := make([]*FlameFrame, 0, len(f.called))
	for _, c := range f.called {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *FlameFrame) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// add counts a trial's profile.
func (f *FlameFrame) add(p result.Profile, names layerNames) {
	for _, task := range p.Tasks {
		layers := frameLayers(task, p.Names, names)
		for i, frame := range task.Frames {
			if frame.Samples() > 0 && layers[i] != layerIdle {
				f.count(stackOf(task, p.Names, layers, i), float64(frame.Samples())*p.PeriodSeconds)
			}
		}
	}
}

// called is one frame of a stack.
type called struct {
	name  string
	layer Layer
}

// stackOf is a task's stack down to a frame, outermost first, the task itself in front.
func stackOf(task result.ProfileTask, names []string, layers []Layer, innermost int) []called {
	var stack []called
	for i := innermost; i >= 0; i = task.Frames[i].Caller() {
		stack = append(stack, called{strings.TrimPrefix(names[task.Frames[i].Name()], result.UserFrame), layers[i]})
	}
	stack = append(stack, called{task.Name, stack[len(stack)-1].layer})
	slices.Reverse(stack)
	return stack
}

func (f *FlameFrame) count(stack []called, seconds float64) {
	f.Seconds += seconds
	for _, c := range stack {
		if f.called == nil {
			f.called = map[string]*FlameFrame{}
		}
		next := f.called[c.name]
		if next == nil {
			next = &FlameFrame{Name: c.name, Layer: c.layer}
			f.called[c.name] = next
		}
		f = next
		f.Seconds += seconds
	}
	f.Own += seconds
}
