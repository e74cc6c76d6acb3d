// Package fake is a simulated machine: nodes whose cells have rates that are
// known, with the noise, the drift and the failures of real ones, drawn from a
// seed, in virtual time. It runs the whole pipeline as a normal user in seconds,
// and it is what the promises of the statistics are measured on.
package fake

import (
	"cmp"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"windtunnel/run"
)

// Truth is what a cell's path really carries and costs.
type Truth struct {
	BitsPerSecond       float64
	SenderBusy          float64 // share of the sending node's CPUs, 0 to 1
	ReceiverBusy        float64
	WirePacketBytes     float64
	EndpointPacketBytes float64
	PacketBytes         float64 // payload of a datagram, frame or request; TCP has none
	Loss                float64 // share of such packets
	LatencySeconds      float64 // median, of a load that measures it
	LatencyFails        bool    // frames do not tell when they left
	Calibrated          float64 // what its generator reaches without a path; 0: not known
	Found               string  // what engines made of it by themselves, on each node
	BuildFails          string  // why its testbed cannot be built
	MTUFails            bool    // its probe does not pass
	BreaksAfter         int     // after so many trials its testbed breaks, until it is rebuilt; 0: never
	StaysBroken         bool    // and it cannot be rebuilt
	Noise               float64 // of this cell's trials, instead of the machine's Trial; 0: that
	SlowMode            float64 // probability that a trial of this cell alone runs in a mode of SlowFactor, beside the machine's
	SlowFactor          float64
	RisesFor            float64 // seconds from the start in which it carries only RisesFrom of its rate
	RisesFrom           float64
}

// Noise is what lies between the truth and a trial. The zero value is none.
type Noise struct {
	Trial       float64 // relative standard deviation of a trial
	Freedom     int     // of Student's t, that its noise has the tails of; 0: Gaussian
	Drift       float64 // standard deviation of the machine's speed, by trial, as a random walk of logarithms
	SlowMode    float64 // probability that a trial runs in a mode of SlowFactor
	SlowFactor  float64
	Outlier     float64 // probability that a trial is far off
	OutlierBy   float64 // standard deviation of such a trial's logarithm
	Steal       float64 // probability that the hypervisor steals a tenth of a CPU
	WorkerDeath float64 // probability that the receiver dies within a trial
}

// Realistic is the noise of a small shared machine: a few per cent a trial, a
// speed that drifts by a factor of two within minutes, a slow mode, outliers.
var Realistic = Noise{Trial: 0.03, Drift: 0.02, SlowMode: 0.1, SlowFactor: 0.8, Outlier: 0.03, OutlierBy: 0.4, Steal: 0.02, WorkerDeath: 0.002}

// Machine is one simulated host. It is safe for use by several nodes at once.
type Machine struct {
	Truths map[string]Truth
	Noise  Noise
	// NodeDiesAfter is after how many trials node "b" stops answering; 0: never.
	NodeDiesAfter int

	mu     sync.Mutex
	random *rand.Rand
	now    time.Time
	speed  float64 // logarithm
	trials int
	open   map[string]*trial
	drawn  map[string]int // trials by cell
	broken map[string]bool
	stands map[string]bool // cells of which anything was built and not taken away
	beside []string        // those, when the last trial started
	most   int             // how many they were at any trial's start
	alone  int             // starts of trials whose nodes are not read in their windows
}

// New is a machine whose noise is drawn from seed. Cells without a truth carry
// one gigabit per second.
func New(seed uint64, truths map[string]Truth, noise Noise) *Machine {
	return &Machine{
		Truths: truths, Noise: noise,
		random: rand.New(rand.NewPCG(seed, 0xfa4e)),
		now:    time.Date(2018, 11, 21, 0, 0, 0, 0, time.UTC),
		open:   map[string]*trial{}, drawn: map[string]int{}, broken: map[string]bool{}, stands: map[string]bool{},
	}
}

// Nodes are the machine's nodes.
func (m *Machine) Nodes(names ...string) []run.Node {
	nodes := make([]run.Node, len(names))
	for i, name := range names {
		nodes[i] = &node{name: name, machine: m}
	}
	return nodes
}

// Now is the machine's virtual time.
func (m *Machine) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Beside are the cells of which something stood when the last trial started, in order.
func (m *Machine) Beside() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.beside
}

// MostBeside is how many cells stood at once, at most, when a trial started.
func (m *Machine) MostBeside() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// Alone is how many trials of two nodes were started whose nodes are not read in their windows.
func (m *Machine) Alone() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alone / 2
}

func (m *Machine) truth(cell string) Truth {
	t := m.Truths[cell]
	fill := func(field *float64, value float64) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&t.BitsPerSecond, 1e9)
	fill(&t.SenderBusy, 0.6)
	fill(&t.ReceiverBusy, 0.9)
	fill(&t.WirePacketBytes, 1514)
	fill(&t.EndpointPacketBytes, 30000)
	fill(&t.PacketBytes, 1400)
	fill(&t.LatencySeconds, 50e-6)
	return t
}

// trial is one trial, drawn once for both nodes.
type trial struct {
	truth  Truth
	start  run.Start
	rate   float64
	ends   []run.Request
	stolen bool
	dead   bool
	left   int // nodes that have not asked for it yet
}

// draw decides a trial.
func (m *Machine) draw(cell string) *trial {
	n := m.Noise
	m.speed += n.Drift * m.random.NormFloat64()
	m.speed = math.Max(-0.35, math.Min(0.35, m.speed))
	truth := m.truth(cell)
	log := m.speed + cmp.Or(truth.Noise, n.Trial)*m.standard()
	if m.random.Float64() < n.SlowMode {
		log += math.Log(n.SlowFactor)
	}
	if truth.SlowMode > 0 && m.random.Float64() < truth.SlowMode {
		log += math.Log(truth.SlowFactor)
	}
	if m.random.Float64() < n.Outlier {
		log += n.OutlierBy * m.random.NormFloat64()
	}
	m.trials++
	if m.drawn[cell]++; m.drawn[cell] == truth.BreaksAfter {
		m.broken[cell] = true
	}
	return &trial{truth: truth, rate: truth.BitsPerSecond * math.Exp(log),
		stolen: m.random.Float64() < n.Steal, dead: m.random.Float64() < n.WorkerDeath || m.broken[cell]}
}

// standard draws noise of a scale of one: Gaussian, or over the root of a mean of squares, as Student's t is made.
func (m *Machine) standard() float64 {
	z := m.random.NormFloat64()
	if m.Noise.Freedom == 0 {
		return z
	}
	sum := 0.0
	for range m.Noise.Freedom {
		x := m.random.NormFloat64()
		sum += x * x
	}
	return z / math.Sqrt(sum/float64(m.Noise.Freedom))
}
