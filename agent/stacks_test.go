//go:build linux

package agent

import (
	"testing"
	"time"

	"windtunnel/measure"
	"windtunnel/measure/profile"
	"windtunnel/testbed"
)

// TestHostsProgramsAreNotTheCells: a node's stack is the cell's, but not if it is the host's own.
func TestHostsProgramsAreNotTheCells(t *testing.T) {
	stacks := []measure.Stack{{Place: "a", Do: func(f func() error) error { return f() }}}
	for inPlace, want := range map[bool]int{false: 1, true: 0} {
		g := testbed.Graph{Cell: "A", Nodes: []testbed.Node{{Name: "a", InPlace: inPlace}}}
		n := &node{config: NodeConfig{Name: "a"}, graphs: map[string]testbed.Graph{"A": g}}
		got, err := n.belongs("A", measure.Config{Stacks: stacks, Receivers: []int{7}})
		if err != nil || len(got.Networks) != want || !got.Tasks[7] {
			t.Errorf("in place %v: %+v, %v", inPlace, got, err)
		}
	}
}

// TestAFailureToSampleMayPass: the next trial tries again.
func TestAFailureToSampleMayPass(t *testing.T) {
	if why := profile.Missing(); why != "" {
		t.Skip(why)
	}
	sampler := &stackSampler{cpus: []int{1 << 20}}
	if err := sampler.take(); err == nil {
		t.Error("there is no such CPU")
	}
	sampler.cpus = []int{0}
	if err := sampler.take(); err != nil {
		t.Fatal(err)
	}
	(&sampling{sampler: sampler}).close()
	if sampler.busy || sampler.opened != nil {
		t.Errorf("%+v", sampler)
	}
}

// TestSamplesThatCannotBeReadAreNotTheNextTrials: they are in the sampler still, which is therefore not used again.
func TestSamplesThatCannotBeReadAreNotTheNextTrials(t *testing.T) {
	if why := profile.Missing(); why != "" {
		t.Skip(why)
	}
	sampler := &stackSampler{cpus: []int{0}}
	if err := sampler.take(); err != nil {
		t.Fatal(err)
	}
	if err := sampler.opened.Close(); err != nil {
		t.Fatal(err)
	}
	trial := &sampling{sampler: sampler, window: time.Second}
	if p := trial.profile(); p.Missing == "" {
		t.Errorf("%+v", p)
	}
	if trial.close(); sampler.busy || sampler.opened != nil {
		t.Errorf("%+v", sampler)
	}
}
