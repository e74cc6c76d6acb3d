package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// allTold is all that the causes of the first ratio say.
func allTold(file result.File) string {
	var all []string
	for _, c := range Of(file).Ratios[0].Causes {
		all = append(all, c.Factor+": "+c.Says+" ("+c.ShareWords()+")")
		all = append(all, c.Evidence...)
	}
	return strings.Join(all, "\n")
}

// TestAPlaceThatDroppedLittleIsNotWhereItWasLost: of what was lost, counters may name a few.
func TestAPlaceThatDroppedLittleIsNotWhereItWasLost(t *testing.T) {
	lossy := func(named uint64) string {
		return allTold(run(6, func(tr *result.Trial) {
			tr.Pairs[0].Receiver.Arrived = &result.Arrived{Expected: 100_000}
			if tr.Cell == "B" {
				tr.Pairs[0].Receiver.Arrived = &result.Arrived{Expected: 100_000, Lost: 67_000, SocketDrops: named}
			}
		}))
	}
	if got := lossy(500); !strings.Contains(got, "loss: packets were lost: 67 % were in B, 0 % in A (") || !strings.Contains(got, "of the 67000 packets that were lost in a trial, no counter says where most were") {
		t.Error(got)
	}
	if got := lossy(60_000); !strings.Contains(got, ", most at b socket buffer") || strings.Contains(got, "no counter says") {
		t.Error(got)
	}
}

// TestWhoHadTheCPU of a sender that waited for it: a quota nobody, else what stacks tell.
func TestWhoHadTheCPU(t *testing.T) {
	waiting := func(busy float64, whose string) string {
		file := sampled(6)
		for i := range file.Trials {
			tr := &file.Trials[i]
			end := &tr.Pairs[0].Sender
			end.Threads, end.CPUSeconds, end.Offered = 1, 0.9, &result.Offered{}
			if tr.Cell == "B" {
				end.CPUSeconds, end.Offered.WaitSeconds = 0.5, 0.5
				end.Bytes /= 2
				tr.Pairs[0].Receiver.Bytes /= 2
			}
			tr.Nodes["a"].CPUs[0].Busy = busy
		}
		for i := range file.Profiles {
			p := file.Profiles[i]
			if p.Node == "a" && whose != "" {
				file.Profiles[i] = result.Profile{Cell: p.Cell, Block: p.Block, Attempt: 1, Node: "a", WindowSeconds: 1, PeriodSeconds: 0.001, CPUs: []int{0}, Taken: 1000,
					Names: []string{"some_function"}, Tasks: []result.ProfileTask{{Name: "windtunnel", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 0, 500}}},
						{Name: "another", Whose: whose, Frames: []result.ProfileFrame{{-1, 0, 500}}}}}
			}
		}
		return allTold(file)
	}
	for name, c := range map[string]struct {
		busy       float64
		whose      string
		want, none string
	}{
		"a quota":            {0.5, "", "idle for 50 % of the time: a quota", "not known"},
		"not sampled":        {1, "", "not known: stacks were not sampled", "a quota"},
		"another program":    {1, result.OfOthers, "no part in the cell had 50 % of a CPU", "own work"},
		"the cell's program": {1, result.OfCell, "the cell's own work had the CPU", "and not of the path"},
	} {
		if got := waiting(c.busy, c.whose); !strings.Contains(got, "generator: the sender was kept") || !strings.Contains(got, c.want) || strings.Contains(got, c.none) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestLayersAreEvidence of what made a full CPU's work dearer.
func TestLayersAreEvidence(t *testing.T) {
	file := sampled(6)
	for i := range file.Trials {
		file.Trials[i].Nodes["b"].CPUs[0].Busy = 0.99
		if tr := &file.Trials[i]; tr.Cell == "B" {
			tr.Pairs[0].Receiver.Bytes /= 2
		}
	}
	if got := allTold(file); !strings.Contains(got, "by its stacks, a KiB took node b 1100 ns more in B than in A; of that bridge 600, TCP 450, kernel threads 50") {
		t.Error(got)
	}
}

// TestSettingsAreReadBack: what interfaces were set to stands beside what packets became of it, and by itself.
func TestSettingsAreReadBack(t *testing.T) {
	set := func(tr *result.Trial, mtu int, on ...string) {
		a, b := tr.Nodes["a"], tr.Nodes["b"]
		a.Links = append(a.Links, result.LinkSample{Place: "a", Device: "wire0", Role: result.RoleWire, Settings: &result.LinkSettings{MTU: mtu, On: []string{"TSO"}}})
		b.Links = append(b.Links, result.LinkSample{Place: "b", Device: "wire0", Role: result.RoleWire, Settings: &result.LinkSettings{MTU: mtu, On: on}})
		tr.Nodes["a"], tr.Nodes["b"] = a, b
	}
	got := allTold(run(6, func(tr *result.Trial) {
		busyAt(tr, "b", 0.99)
		sized(tr, 60_000, 1514, 30_000)
		if tr.Cell == "B" {
			sized(tr, 60_000, 1514, 1500)
			set(tr, 1400, "rx checksum")
			return
		}
		set(tr, 1500, "rx checksum", result.OffloadGRO)
	}))
	for _, want := range []string{"aggregation: the receiver joins fewer", "the receiver's end of the wire: GRO off in B, on in A, as read back",
		"device-settings: the interfaces on the way are set otherwise: the sender's end of the wire: MTU 1400 in B, 1500 in A, as read back",
		"the receiver's end of the wire: MTU 1400 in B"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Count(got, "GRO off in B") != 1 || strings.Contains(got, "rx checksum") {
		t.Error(got)
	}
}

// TestOtherProgramsThatHadTheCPU are named where they explain most of a difference, and are only seen where it is larger.
func TestOtherProgramsThatHadTheCPU(t *testing.T) {
	with := func(rate float64) []Cause {
		file := run(6, func(tr *result.Trial) {
			busyAt(tr, "b", 1)
			tr.Pairs[0].Receiver.Bytes = 100_000_000 + uint64(10_000*(tr.Block%3))
			if tr.Cell == "B" {
				tr.Pairs[0].Receiver.Bytes = uint64(rate*1e8) + uint64(10_000*(tr.Block%2))
			}
		})
		file.Run.Plan.Profile = true
		for _, tr := range file.Trials {
			others := int32(50)
			if tr.Cell == "B" {
				others = 300 + int32(tr.Block%2)
			}
			file.Profiles = append(file.Profiles, result.Profile{Cell: tr.Cell, Block: tr.Block, Node: "b", WindowSeconds: 1, PeriodSeconds: 0.0025, CPUs: []int{1}, Taken: 400,
				Names: []string{"tcp_v4_rcv"}, Tasks: []result.ProfileTask{
					{Name: "make", Whose: result.OfOthers, Frames: []result.ProfileFrame{{-1, 0, others}}},
					{Name: "worker", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 0, 400 - others}}}}})
		}
		return Of(file).Ratios[0].Causes
	}
	causes := with(0.28)
	if len(causes) == 0 || causes[0].Factor != "other-programs" || !causes[0].Share.Known() || causes[0].Share.Mean < 0.8 || causes[0].Share.Mean > 1.2 {
		t.Errorf("%+v", causes)
	}
	for _, cause := range with(0.01) {
		if cause.Factor == "other-programs" && (cause.rank.order != seen || cause.Share.Known()) {
			t.Errorf("of a much larger difference: %+v", cause)
		}
	}
}

// TestSegmentsLostAtAFullQueue are how TCP finds what a path carries, while they are few; many bind it.
func TestSegmentsLostAtAFullQueue(t *testing.T) {
	with := func(again uint64) (found Cause) {
		file := run(6, func(tr *result.Trial) {
			busyAt(tr, "b", 0.8)
			connect(tr, result.Connection{SegmentsOut: 10_000, BusySeconds: 1})
			if tr.Cell == "B" {
				connect(tr, result.Connection{SegmentsOut: 10_000, Retransmits: again, BusySeconds: 1})
				a := tr.Nodes["a"]
				a.Links = []result.LinkSample{{Place: "a", Device: "nic0", Role: result.RoleWire, TxDropped: again}}
				tr.Nodes["a"] = a
			}
		})
		for _, cause := range Of(file).Ratios[0].Causes {
			if cause.Factor == "loss" {
				found = cause
			}
		}
		return found
	}
	if few, many := with(40), with(400); few.Factor == "" || few.rank.order != seen || many.Factor == "" || many.rank.order != bound {
		t.Errorf("%+v\n%+v", few, many)
	}
}
