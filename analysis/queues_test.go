package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
)

func TestQueueDoubts(t *testing.T) {
	for name, c := range map[string]struct {
		asked  result.Queueing
		queues []uint64 // of the receiver's wire
		cpus   []uint64 // what its CPUs received
		want   string   // in the doubt; empty: none
	}{
		"one queue":          {result.Queueing{}, nil, []uint64{9}, ""},
		"vmq":                {result.Queueing{VMQ: true}, []uint64{1, 99}, []uint64{1, 99}, ""},
		"vmq, tunnel":        {result.Queueing{VMQ: true}, []uint64{98, 2}, []uint64{99, 1}, "have none of their own"},
		"vmq, not told":      {result.Queueing{VMQ: true}, nil, []uint64{99, 1}, "is not known"},
		"by flow":            {result.Queueing{Receive: true}, []uint64{40, 60}, []uint64{45, 55}, ""},
		"one flow":           {result.Queueing{Receive: true}, []uint64{0, 100}, []uint64{1, 99}, "one flow has one queue"},
		"behind its queue":   {result.Queueing{Receive: true, Hosts: []result.HostQueueing{{Node: "b", Receive: result.ReceiveByRPS}}}, []uint64{100}, []uint64{45, 55}, ""},
		"RPS, one CPU":       {result.Queueing{Receive: true, Hosts: []result.HostQueueing{{Node: "b", Receive: result.ReceiveByRPS}}}, nil, []uint64{99, 1}, "one CPU received is 99 %"},
		"one CPU":            {result.Queueing{VMQ: true, Receive: true}, []uint64{1, 99}, []uint64{95, 5}, "one CPU received is 95 %"},
		"CPUs not told":      {result.Queueing{VMQ: true, Receive: true}, []uint64{1, 99}, nil, "one CPU received is not known"},
		"send is not theirs": {result.Queueing{Send: true}, nil, []uint64{99, 1}, ""},
	} {
		f := run(6, func(t *result.Trial) {
			sender := t.Nodes["a"]
			sender.CPUs[0].Processed = new(uint64)
			*sender.CPUs[0].Processed = 5
			other := uint64(5)
			sender.CPUs = append(sender.CPUs, result.CPUSample{CPU: 1, Processed: &other})
			sender.Links = []result.LinkSample{{Role: result.RoleWire, RxQueues: []uint64{50, 50}}}
			t.Nodes["a"] = sender
			n := t.Nodes["b"]
			n.Links = []result.LinkSample{{Role: result.RoleWire, RxQueues: c.queues}}
			n.CPUs = nil
			for i := range c.cpus {
				n.CPUs = append(n.CPUs, result.CPUSample{CPU: i, Busy: 0.5, Processed: &c.cpus[i]})
			}
			t.Nodes["b"] = n
		})
		f.Cells[1].Queueing = &c.asked
		got := ""
		for _, d := range Of(f).Doubts {
			if d.Kind == "queues" {
				got += d.Says
			}
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
