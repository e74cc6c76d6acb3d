package analysis

import (
	"math"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/stats"
)

// busyAt makes the only CPU of a node busy for so much of the window.
func busyAt(t *result.Trial, node string, share float64) { t.Nodes[node].CPUs[0].Busy = share }

// sized gives a trial the packets of its hops, by their mean bytes.
func sized(t *result.Trial, own, wire, stack uint64) {
	bytes := t.Pairs[0].Receiver.Bytes
	a, b := t.Nodes["a"], t.Nodes["b"]
	a.Links = []result.LinkSample{
		{Place: "a", Role: result.RoleEndpoint, TxBytes: bytes, TxPackets: bytes / own},
		{Place: "a", Role: result.RoleWire, TxBytes: bytes, TxPackets: bytes / wire},
	}
	b.Stacks = []result.StackSample{{Place: "b", InBytes: bytes, InPackets: bytes / stack}}
	b.Links = []result.LinkSample{{Place: "b", Role: result.RoleWire, RxBytes: bytes, RxPackets: bytes / wire}}
	t.Nodes["a"], t.Nodes["b"] = a, b
}

func connect(t *result.Trial, c result.Connection) {
	c.BusySeconds = max(c.BusySeconds, 1e-9)
	t.Pairs[0].Sender.Connections = []result.Connection{c}
	t.Pairs[0].Receiver.Connections = []result.Connection{c}
}

// tuned is a connection whose buffers the kernel has tuned, and which nothing held up.
func tuned() result.Connection {
	return result.Connection{BusySeconds: 1, ReceiveBufferBytes: 6e6, SendBufferBytes: 4e6, SegmentsOut: 70_000}
}

// cases are two cells of which B is half as fast as A, each with one thing that is otherwise.
var cases = map[string]struct {
	cells  func(a, b *result.Cell)
	both   func(*result.Trial)
	b      func(*result.Trial)
	factor string
	known  bool // its share
	says   string
}{
	"a small MTU": {
		both:  func(t *result.Trial) { busyAt(t, "b", 0.99); sized(t, 60_000, 1514, 30_000) },
		cells: func(_, b *result.Cell) { b.MTU = result.MTU{Wire: 600, Endpoint: 600} },
		b:     func(t *result.Trial) { sized(t, 60_000, 614, 12_000) }, factor: "mtu", known: true, says: "614 bytes in B, 1514 in A",
	},
	"no GRO": {
		both: func(t *result.Trial) { busyAt(t, "b", 0.99); sized(t, 60_000, 1514, 30_000) },
		b:    func(t *result.Trial) { sized(t, 60_000, 1514, 1500) }, factor: "aggregation", known: true, says: "its stack gets 1500 bytes in B",
	},
	"no segmentation inside": {
		both: func(t *result.Trial) { busyAt(t, "a", 0.99); sized(t, 60_000, 1514, 30_000) },
		b:    func(t *result.Trial) { sized(t, 1514, 1514, 20_000) }, factor: "segmentation", known: true, says: "leaves the sender's interface",
	},
	"a small receive buffer": {
		both: func(t *result.Trial) { connect(t, tuned()) },
		b: func(t *result.Trial) {
			c := tuned()
			c.RwndLimitedSeconds, c.ReceiveBufferBytes = 0.9, 131072
			connect(t, c)
		}, factor: "receive-window", says: "90 % of the time in B",
	},
	"a receiver that is slow": {
		both: func(t *result.Trial) { connect(t, tuned()); busyAt(t, "b", 0.99); sized(t, 60_000, 1514, 30_000) },
		b: func(t *result.Trial) {
			c := tuned()
			c.RwndLimitedSeconds = 0.9
			connect(t, c)
			sized(t, 60_000, 1514, 1500)
		}, factor: "aggregation", known: true, says: "joins fewer packets",
	},
	"a rule that drops": {
		both: func(t *result.Trial) { connect(t, tuned()) },
		b: func(t *result.Trial) {
			c := tuned()
			c.Retransmits, c.SegmentsOut = 700, 70_000
			connect(t, c)
			s := t.Nodes["b"]
			s.Switches = []result.SwitchSample{{Switch: "rule b/nic0", Received: 1000, Sent: 300, Drops: map[string]uint64{"loss": 700}}}
			t.Nodes["b"] = s
		}, factor: "loss", says: "dropped at rule b/nic0 loss: 70 %",
	},
	"a sender without a CPU": {
		both: func(t *result.Trial) {
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds = 1, 0.95
			t.Pairs[0].Sender.Offered = &result.Offered{}
		},
		b: func(t *result.Trial) {
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered.WaitSeconds = 0.5, 0.5
		}, factor: "generator", known: true, says: "no CPU for 50 % of the time in B",
	},
	"a program of others that has the sender's CPU": {
		both: func(t *result.Trial) {
			busyAt(t, "a", 1)
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds = 1, 0.95
			t.Pairs[0].Sender.Offered = &result.Offered{}
		},
		b: func(t *result.Trial) {
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered = 0.5, &result.Offered{WaitSeconds: 0.5}
		}, factor: "generator", known: true, says: "no CPU for 50 % of the time in B",
	},
	"a sender without a CPU, so that its connections have nothing to send": {
		both: func(t *result.Trial) {
			connect(t, tuned())
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds = 1, 0.95
			t.Pairs[0].Sender.Offered = &result.Offered{}
		},
		b: func(t *result.Trial) {
			connect(t, result.Connection{BusySeconds: 0.11})
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered.WaitSeconds = 0.02, 0.81
		}, factor: "generator", says: "no CPU for 81 % of the time in B",
	},
	"a sender without a CPU, some of whose few segments are lost": {
		both: func(t *result.Trial) {
			c := tuned()
			c.Retransmits, c.SegmentsOut = 300, 60_000
			connect(t, c)
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds = 1, 0.95
			t.Pairs[0].Sender.Offered = &result.Offered{}
		},
		b: func(t *result.Trial) {
			connect(t, result.Connection{BusySeconds: 0.48, Retransmits: 25, SegmentsOut: 1200})
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered.WaitSeconds = 0.02, 0.81
		}, factor: "generator", says: "no CPU for 81 % of the time in B",
	},
	"a sender with little to send, and now and then no CPU": {
		both: func(t *result.Trial) {
			connect(t, tuned())
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds = 1, 0.95
			t.Pairs[0].Sender.Offered = &result.Offered{}
		},
		b: func(t *result.Trial) {
			connect(t, result.Connection{BusySeconds: 0.2})
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered.WaitSeconds = 0.1, 0.12
		}, factor: "application", says: "nothing to send for 80 % of the time in B",
	},
	"a token bucket": {
		cells: func(_, b *result.Cell) { b.Wired = &result.WireSettings{BitsPerSecond: 400e6} },
		both:  func(t *result.Trial) { sized(t, 60_000, 1514, 30_000) }, factor: "ceiling", says: "the wire's token bucket of 400 Mbit/s",
	},
	"received on the sender's CPU": {
		both: func(t *result.Trial) {
			sized(t, 60_000, 1514, 30_000)
			own := 0.3
			t.Nodes["b"].CPUs[0].Receive = &own
		},
		b: func(t *result.Trial) {
			s, away := t.Nodes["b"], 0.3
			s.ReceiveAway, s.CPUs[0].Receive = &away, nil
			t.Nodes["b"] = s
			busyAt(t, "a", 0.99)
		}, factor: "steering", known: true, says: "CPUs that are not its own",
	},
	"another path": {
		cells: func(_, b *result.Cell) { b.Path = "vxlan" },
		both:  func(t *result.Trial) { busyAt(t, "b", 0.99) }, factor: "path", known: true, says: "vxlan in B",
	},
	"another kind of load": {
		cells: func(a, b *result.Cell) { a.Traffic, b.Traffic = "datagram", "stream" },
		both:  func(t *result.Trial) { busyAt(t, "b", 0.99) }, factor: "load", known: true, says: "stream in B, datagram in A",
	},
	"ends at another place": {
		cells: func(a, _ *result.Cell) {
			a.Pairs = []result.Pair{{From: result.Place{Node: "b", Container: "s"}, To: result.Place{Node: "b"}}}
		},
		both: func(t *result.Trial) { busyAt(t, "b", 0.99) }, factor: "wire", known: true, says: "on two nodes, with a wire between them in B, on one node",
	},
	"two threads of a sender's that share a CPU with the path's work": {
		both: func(t *result.Trial) {
			busyAt(t, "a", 1)
			sized(t, 60_000, 1514, 30_000)
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered = 2, 0.5, &result.Offered{WaitSeconds: 0.7}
		},
		b: func(t *result.Trial) {
			sized(t, 1514, 1514, 20_000)
			s := t.Nodes["a"]
			s.KernelThreadSeconds = 0.6
			t.Nodes["a"] = s
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered = 0.38, &result.Offered{WaitSeconds: 1.5, PathSeconds: 0.6}
		}, factor: "segmentation", known: true, says: "leaves the sender's interface",
	},
	"a proxy that has the sender's CPU": {
		cells: func(_, b *result.Cell) { b.Path = "published-port" },
		both: func(t *result.Trial) {
			busyAt(t, "a", 1)
			t.Pairs[0].Sender.Threads, t.Pairs[0].Sender.CPUSeconds = 1, 0.95
			t.Pairs[0].Sender.Offered = &result.Offered{}
		},
		b: func(t *result.Trial) {
			t.Pairs[0].Sender.CPUSeconds, t.Pairs[0].Sender.Offered = 0.5, &result.Offered{WaitSeconds: 0.5}
		}, factor: "path", known: true, says: "published-port in B",
	},
	"nothing but a full CPU": {
		both: func(t *result.Trial) { busyAt(t, "b", 0.99) }, factor: "cpu", known: true, says: "CPU 0 of node b (receiver)",
	},
}

func TestCausesAreNamedFirst(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := run(6, func(tr *result.Trial) {
				if c.both != nil {
					c.both(tr)
				}
				if tr.Cell == "B" && c.b != nil {
					c.b(tr)
				}
			})
			for i := range file.Cells {
				file.Cells[i].MTU = result.MTU{Wire: 1500, Endpoint: 1500}
			}
			if c.cells != nil {
				c.cells(&file.Cells[0], &file.Cells[1])
			}
			causes := Of(file).Ratios[0].Causes
			if len(causes) == 0 || causes[0].Factor != c.factor || !strings.Contains(causes[0].Says, c.says) {
				t.Fatalf("want %s, %q; got %+v", c.factor, c.says, causes)
			}
			share := causes[0].Share
			if share.Known() != c.known || c.known && (share.Mean < 0.5 || share.Mean > 2.5 || share.Low == nil || causes[0].By == "") {
				t.Errorf("share %+v by %q", share, causes[0].By)
			}
		})
	}
}

// TestNoCauseWithoutADifference: of two cells of which none is claimed to be slower, nothing is the cause.
func TestNoCauseWithoutADifference(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		busyAt(tr, "b", 0.99)
		tr.Pairs[0].Receiver.Bytes = uint64(1e8 + 1e6*float64((tr.Block+tr.Order)%3))
	})
	if causes := Of(file).Ratios[0].Causes; len(causes) != 0 {
		t.Errorf("%+v", causes)
	}
}

// TestWhatDiffersIsNoCauseOfRatesThatAreAlike: packets of another size, another path.
func TestWhatDiffersIsNoCauseOfRatesThatAreAlike(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		tr.Pairs[0].Receiver.Bytes = uint64(1e8 + 1e6*float64((tr.Block+tr.Order)%3))
		sized(tr, 60_000, 1514, 30_000)
		busyAt(tr, "b", 0.5)
		if tr.Cell == "B" {
			sized(tr, 60_000, 1514, 1500)
			busyAt(tr, "b", 0.99)
		}
	})
	file.Cells[1].Path = "vxlan"
	if causes := Of(file).Ratios[0].Causes; len(causes) != 0 {
		t.Errorf("%+v", causes)
	}
}

// TestNothingHasAShareOfADifferenceThatIsNotClaimed: it looks large, and the bounds hold none.
func TestNothingHasAShareOfADifferenceThatIsNotClaimed(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		busyAt(tr, "b", 0.99)
		if tr.Cell == "B" {
			tr.Pairs[0].Receiver.Bytes = uint64(2e7 * float64(1+tr.Block%3*2))
		}
	})
	r := Of(file).Ratios[0]
	if !r.Estimate.Bounded() || r.Estimate.Differs() || len(r.Causes) == 0 {
		t.Fatalf("%+v", r)
	}
	for _, c := range r.Causes {
		if c.ShareWords() != "seen; no difference is claimed" {
			t.Errorf("%s: %s", c.Factor, c.ShareWords())
		}
	}
}

// TestSeveralThingsThatCostOneCPU have no share each, and are told with what they come to together.
func TestSeveralThingsThatCostOneCPU(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		busyAt(tr, "b", 0.99)
		sized(tr, 60_000, 1514, 30_000)
		if tr.Cell == "B" {
			sized(tr, 60_000, 1514, 1500)
		}
	})
	file.Cells[1].Path = "vxlan"
	causes := Of(file).Ratios[0].Causes
	if len(causes) < 2 || causes[0].Factor != "aggregation" || causes[1].Factor != "path" {
		t.Fatalf("%+v", causes)
	}
	for _, c := range causes[:2] {
		if c.Share.Known() || !strings.Contains(strings.Join(c.Evidence, "; "), "all in all, CPU time per KiB on the CPU that was full explains 1") {
			t.Errorf("%s: %+v, %q", c.Factor, c.Share, c.Evidence)
		}
	}
}

// TestCellsAtOneCeiling are named together, and ranked by what they cost at a rate that both get.
func TestCellsAtOneCeiling(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		tr.Pairs[0].Receiver.Bytes = 98_000_000 + uint64(tr.Block%3)
		sized(tr, 60_000, 1514, 30_000)
	})
	for i := range file.Cells {
		file.Cells[i].Wired = &result.WireSettings{BitsPerSecond: 800e6}
	}
	f := Of(file)
	if len(f.Ceilings) != 1 || strings.Join(f.Ceilings[0].Cells, "") != "AB" || f.Ceilings[0].Reason == "" || len(f.Ceilings[0].Ranked) != 0 {
		t.Fatalf("%+v", f.Ceilings)
	}
	if c := f.Ratios[0].Causes; len(c) == 0 || c[0].Factor != "ceiling" || !strings.Contains(c[0].Says, "at the same ceiling") {
		t.Errorf("%+v", c)
	}
	for block := 1; block <= 5; block++ {
		for _, cell := range []string{"A", "B"} {
			at := trial(cell, block, 1)
			at.Pairs[0].Receiver.Bytes = 78_400_000
			busyAt(&at, "b", 0.3+0.001*float64(block%2))
			if cell == "B" {
				busyAt(&at, "b", 0.6+0.001*float64(block%3))
			}
			ceiling, _ := file.Cells[0].AtCeiling(nil, file.Trials[:1])
			file.Equal = append(file.Equal, result.EqualRate{Cell: cell, Ceiling: ceiling, BitsPerSecond: 627e6, Share: 0.8, Trial: &at})
		}
	}
	g := Of(file).Ceilings[0]
	if len(g.Ranked) != 2 || g.Ranked[0].Cell != "A" || g.Ranked[1].Against.Estimate < 1.3 || !g.Ranked[1].Against.Differs() || !strings.Contains(g.Ranked[1].Verdict, "more CPU per KiB") {
		t.Errorf("%+v", g)
	}
}

// TestCellsThatFillOneCPU are named together, without a doubt of their rates; what fills the CPU stays the cause of their ratio.
func TestCellsThatFillOneCPU(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		tr.Pairs[0].Receiver.Bytes, tr.Pairs[0].Sender.Bytes = 98_000_000, 98_000_000
		if tr.Cell == "B" {
			tr.Pairs[0].Receiver.Bytes, tr.Pairs[0].Sender.Bytes = 49_000_000+uint64(tr.Block%3), 49_000_010
		}
		sized(tr, 60_000, 1514, 30_000)
		busyAt(tr, "b", 0.99)
	})
	f := Of(file)
	if len(f.Ceilings) != 1 || strings.Join(f.Ceilings[0].Cells, "") != "AB" || f.Ceilings[0].Ceiling.Kind != result.CeilingCPU || f.Ceilings[0].Reason == "" {
		t.Fatalf("%+v", f.Ceilings)
	}
	for _, d := range f.Doubts {
		if d.Kind == "ceiling-reached" {
			t.Errorf("%+v", d)
		}
	}
	if c := f.Ratios[0].Causes; len(c) == 0 || c[0].Factor == "ceiling" || !strings.Contains(c[0].Says+strings.Join(c[0].Evidence, " "), "CPU was full") {
		t.Errorf("%+v", c)
	}
}

// TestCheapestOfManyIsChosenByTheData: each of eight cells at one ceiling may come out as the cheapest by chance, so that the
// bounds against it are those of one of all 28 pairs.
func TestCheapestOfManyIsChosenByTheData(t *testing.T) {
	file := run(6, nil)
	spec := file.Cells[0]
	file.Cells, file.Trials = nil, nil
	for i := range 8 {
		spec.Name = string(rune('A' + i))
		spec.Wired = &result.WireSettings{BitsPerSecond: 800e6}
		file.Cells = append(file.Cells, spec)
		for block := 1; block <= 5; block++ {
			at := trial(spec.Name, block, 1+i)
			at.Pairs[0].Receiver.Bytes = 98_000_000 + uint64(block%3)
			sized(&at, 60_000, 1514, 30_000)
			file.Trials = append(file.Trials, at)
			equal := trial(spec.Name, block, 1+i)
			equal.Pairs[0].Receiver.Bytes = 78_400_000
			busyAt(&equal, "b", 0.3+0.005*float64(i)+0.01*float64((block*(i+3))%5))
			ceiling, _ := spec.AtCeiling(nil, file.Trials[:1])
			file.Equal = append(file.Equal, result.EqualRate{Cell: spec.Name, Ceiling: ceiling, BitsPerSecond: 627e6, Share: 0.8, Trial: &equal})
		}
	}
	f := Of(file)
	if len(f.Ceilings) != 1 || len(f.Ceilings[0].Ranked) != 8 {
		t.Fatalf("%+v", f.Ceilings)
	}
	cheapest, last := f.Ceilings[0].Ranked[0].Cell, f.Ceilings[0].Ranked[7]
	var trials []result.Trial
	for _, e := range file.Equal {
		trials = append(trials, *e.Trial)
	}
	want := stats.Family(28).OfTrials(file.Cells, trials, result.Ratio{Metric: result.TogetherCost, Over: last.Cell, Under: cheapest})
	if !want.Bounded() || !last.Against.Bounded() || *last.Against.Low != *want.Low || *last.Against.High != *want.High {
		t.Errorf("%v against %s, want %v", last.Against, cheapest, want)
	}
}

// TestSharesAreOfTheRatiosOwnRate: of a full CPU's time per packet where packets are compared, whatever a KiB costs it, and
// of nothing that is no rate.
func TestSharesAreOfTheRatiosOwnRate(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		busyAt(tr, "b", 0.99)
		sized(tr, 60_000, 614, 30_000)
		if tr.Cell == "B" {
			sized(tr, 60_000, 1514, 30_000)
		}
	})
	file.Run.Ratios = []result.Ratio{{Metric: result.WirePacketRate, Over: "B", Under: "A"}, {Metric: result.WirePacketSize, Over: "B", Under: "A"}}
	f := Of(file)
	if c := f.Ratios[0].Causes; len(c) != 1 || c[0].Factor != "cpu" || !c[0].Share.Known() || math.Abs(c[0].Share.Mean-1) > 0.01 {
		t.Errorf("packets on the wire: %+v", c)
	}
	for _, c := range f.Ratios[1].Causes {
		if c.Share.Known() {
			t.Errorf("the size of packets: %+v", c)
		}
	}
}

// TestWhatHoldsACellUpDoesNotMakeItDearer: of what a KiB costs, smaller packets are the cause, and a window that is full is
// only seen; of the rate it is the other way round.
func TestWhatHoldsACellUpDoesNotMakeItDearer(t *testing.T) {
	file := run(6, func(tr *result.Trial) {
		connect(tr, tuned())
		sized(tr, 60_000, 1514, 30_000)
		if tr.Cell == "B" {
			c := tuned()
			c.RwndLimitedSeconds, c.ReceiveBufferBytes = 0.9, 131072
			connect(tr, c)
			sized(tr, 60_000, 1514, 1500)
		}
	})
	file.Run.Ratios = append(file.Run.Ratios, result.Ratio{Metric: result.ReceiverCost, Over: "B", Under: "A"})
	for i, want := range []string{"receive-window", "aggregation"} {
		if c := Of(file).Ratios[i].Causes; len(c) < 2 || c[0].Factor != want {
			t.Errorf("want %s first: %+v", want, c)
		}
	}
}
