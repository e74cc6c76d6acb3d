//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/measure"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/traffic"
)

const (
	// resultPatience is how long after the window's end a worker may take to
	// report: what a load takes to end its streams, and some (beside what it Lingers).
	resultPatience = 3 * time.Second
	// relayPatience is how long a worker may take to try a path or to get ready,
	// by its own limits, and some (beside what a program of others needs, Begins).
	relayPatience = 15 * time.Second
	// teardownPatience is how long an agent's own teardown may take.
	teardownPatience = 10 * time.Second
)

// Backend makes graphs live on one node. netns.Backend is the real one.
type Backend interface {
	Place(ctx context.Context, g testbed.Graph) (map[string]string, error)
	Apply(ctx context.Context, g testbed.Graph, peers map[string]string) error
	Verify(ctx context.Context, g testbed.Graph) error
	Restore(ctx context.Context, cell string) error
	// Start starts a process inside a cell's place; Do runs f on a thread there.
	Start(cell, place string, cmd *exec.Cmd) error
	Do(cell, place string, f func() error) error
	// Pull takes a link's device down, as pulling its cable does for the other end, or brings it up again.
	Pull(cell, place, device string, down bool) error
	// Sysfs is where that thread sees the place's own devices.
	Sysfs(cell, place string) string
	// Receivers are the kernel threads that receive for a cell's interfaces alone.
	Receivers(cell string) []int
	// Rules are what drops packets of a cell's wire by itself.
	Rules(cell string) []netns.Rule
	// LetPoll lets a cell's daemons poll, and those of no other cell.
	LetPoll(cell string) error
	// Port is a place's port of poll mode, nil where it has none.
	Port(cell, place string) *traffic.Port
	// Inside is how to get into a place that an engine or a virtual machine runs, nil for every other one.
	Inside(cell, place string) Inside
	// Found tells what a cell's engines made by themselves: rules, proxies; "" without engines.
	Found(ctx context.Context, cell string) (string, error)
	// Switches are a cell's daemons, and Machines its virtual machines.
	Switches(cell string) []Switch
	Machines(cell string) []Machine
	Close() error
}

// Switch is a running daemon of a path.
type Switch struct {
	Name   string
	PID    int
	Probe  string // who reads its counters; empty: nobody can
	Socket string
}

// Machine is a running virtual machine: QEMU's process, and what runs the guest's instructions.
type Machine struct {
	VM          testbed.VM
	PID         int
	Passt       []int // processes of passt's that make its networks
	Accelerator string
}

// NodeConfig is what a node agent is started with.
type NodeConfig struct {
	Name    string
	CPUs    []int
	Dir     string // of its lease; its own folder in there is Name
	Release string
	// Worker is the command that starts an endpoint worker.
	Worker []string
	// Backend builds the testbeds; nil: network namespaces on this host.
	Backend Backend
	// Ways are by which interfaces a real host's data goes, the first one by itself, all by several links; none: the node is simulated.
	Ways []netns.Way
	// Copied is the folder of this program, if it was brought here and goes at the end; else "".
	Copied string
	// Place is what is told of a place that runs already; nil: the node is the agent's.
	Place *proto.Place
}

// ServeNode is a node's agent: it builds its part of graphs, starts workers in
// them and samples the node, as it is told on in. When in ends, or no word came
// for five seconds, it takes everything away.
func ServeNode(ctx context.Context, in io.Reader, out io.Writer, config NodeConfig) error {
	notes := &journal{}
	if config.Place == nil { // a place that runs already is not ours to share out, and nothing is kept there
		var err error
		if notes, err = openJournal(config.Dir); err != nil {
			return err
		}
		if err := stayOn(config.CPUs); err != nil {
			return err
		}
	}
	// First of all itself: should it hang, its end takes everything else with it.
	err := notes.note(os.Getpid(), "agent of node "+config.Name)
	if err != nil {
		return err
	}
	if config.Copied != "" {
		if err := notes.write(entry{Copied: config.Copied}); err != nil {
			return err
		}
		removeForgotten(config.Copied)
	}
	var nics *hostNICs
	var engines *engines
	if config.Backend == nil {
		backend := netns.New(config.Name, config.CPUs, config.Dir)
		nics = findNICs(config, backend, notes)
		engines = newEngines(backend, config, notes)
		config.Backend = local{backend, engines, nics, newMachines(backend, config, notes)}
	}
	n := &node{config: config, journal: notes, nics: nics, engines: engines, stacks: &stackSampler{cpus: config.CPUs}, carriers: newCarriers(config.Dir), workers: map[string]*workerProcess{}, graphs: map[string]testbed.Graph{}, trials: map[string]*nodeTrial{}, prepared: map[string][]preparedPair{},
		builds: map[string]context.CancelCauseFunc{}}
	ctx, cancel := context.WithCancelCause(ctx)
	n.watchdog = time.AfterFunc(heartbeatLimit, func() {
		cancel(fmt.Errorf("no word from the conductor for %s", heartbeatLimit))
	})
	defer cancel(nil)
	err = serve(ctx, newLines(in, out), n.hello(), n.handle)
	n.watchdog.Stop()
	return errors.Join(err, within(teardownPatience, "taking everything away", n.close))
}

// node is a node agent's state. Requests come one at a time, but for stop and
// heartbeat; the mutex is for those.
type node struct {
	config   NodeConfig
	journal  *journal
	watchdog *time.Timer
	nics     *hostNICs // nil: the node is simulated
	engines  *engines  // nil: of a backend that has none
	stacks   *stackSampler
	carriers *carriers

	mu       sync.Mutex
	graphs   map[string]testbed.Graph // by cell, as applied
	workers  map[string]*workerProcess
	trials   map[string]*nodeTrial
	prepared map[string][]preparedPair          // by cell
	builds   map[string]context.CancelCauseFunc // by cell that is being built: what ends that
}

func (n *node) hello() proto.Hello {
	return proto.Hello{
		Windtunnel: proto.Version, Role: "node", Release: n.config.Release, PID: os.Getpid(),
		Capabilities: []string{proto.DoPlace, proto.DoApply, proto.DoVerify, proto.DoProbe, proto.DoCalibrate, proto.DoPrepare,
			proto.DoFound, proto.DoLook, proto.DoStart, proto.DoResult, proto.DoStop, proto.DoHeartbeat, proto.DoSurvey, proto.DoMeet, proto.DoCarry},
		Fingerprint: n.nics.mark(measure.ReadFingerprint()), Place: n.config.Place,
	}
}

func (n *node) handle(ctx context.Context, ask proto.Request) proto.Reply {
	n.watchdog.Reset(heartbeatLimit)
	switch ask.Do {
	case proto.DoHeartbeat:
		return proto.Reply{}
	case proto.DoPlace, proto.DoApply, proto.DoVerify:
		return n.build(ctx, ask)
	case proto.DoProbe, proto.DoPrepare, proto.DoCalibrate:
		return n.relay(ctx, ask)
	case proto.DoFound:
		said, err := n.config.Backend.Found(ctx, ask.Cell)
		if err != nil {
			return refuse("%v", err)
		}
		return proto.Reply{Found: said}
	case proto.DoLook:
		return n.look(ctx, ask.Programs, ask.Engine)
	case proto.DoSurvey:
		return survey(n.config.Place != nil)
	case proto.DoStart:
		return n.start(ctx, ask)
	case proto.DoResult:
		return n.result(ctx, ask)
	case proto.DoStop:
		return n.stop(ctx, ask.Cell)
	case proto.DoMeet, proto.DoCarry:
		return n.carry(ctx, ask)
	}
	return refuse("a node agent does not know %q", ask.Do)
}

// build handles the verbs that take a graph.
func (n *node) build(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Graph == nil {
		return refuse("%s needs a graph", ask.Do)
	}
	if len(ask.Graph.Nodes) > 0 { // what takes a cell down ends by itself
		var built func()
		ctx, built = n.building(ctx, ask.Cell)
		defer built()
	}
	var reply proto.Reply
	var err error
	switch ask.Do {
	case proto.DoPlace:
		reply.Stacks, err = n.config.Backend.Place(ctx, *ask.Graph)
	case proto.DoApply:
		err = n.apply(ctx, *ask.Graph, ask.Peers)
	case proto.DoVerify:
		if err = n.config.Backend.Verify(ctx, *ask.Graph); err == nil {
			err = n.guests(ctx, proto.DoVerify, *ask.Graph)
		}
	}
	if err != nil {
		return refuse("%v", err)
	}
	return reply
}

// errStopped ends what a stop came for: whoever asked has given up, and the teardown waits behind it.
var errStopped = errors.New("it was told to stop")

// building makes a request of a cell one that a stop ends. built is to be called at its end.
func (n *node) building(ctx context.Context, cell string) (limited context.Context, built func()) {
	limited, cancel := context.WithCancelCause(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.builds[cell] = cancel
	return limited, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.builds, cell)
		cancel(nil)
	}
}

func (n *node) apply(ctx context.Context, g testbed.Graph, peers map[string]string) error {
	if len(g.Nodes) == 0 {
		n.endWorkers(g.Cell)
		return n.config.Backend.Restore(ctx, g.Cell)
	}
	if g.ByBacklog() {
		// Only the machine's first network namespace has it (sysctl_core_init in net/core/sysctl_net_core.c);
		// in another the conductor has a doubt.
		if err := n.journal.raise(backlogFile, backlogPackets); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if n.polled(g) {
		if err := n.journal.raise(hugeLimitFile, hugeLimitPages); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err // without huge pages at all, testers take others
		}
	}
	if err := n.config.Backend.Apply(ctx, g, peers); err != nil {
		return err
	}
	n.mu.Lock()
	n.graphs[g.Cell] = g
	n.mu.Unlock()
	for _, s := range n.config.Backend.Switches(g.Cell) {
		if err := n.journal.note(s.PID, s.Name); err != nil {
			return err
		}
	}
	if err := n.guests(ctx, proto.DoSettle, g); err != nil {
		n.endWorkers(g.Cell)
		return errors.Join(err, n.config.Backend.Restore(context.WithoutCancel(ctx), g.Cell))
	}
	return nil
}

// relay passes a request on to the worker of its place.
func (n *node) relay(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Do != proto.DoProbe && ask.Order == nil {
		return refuse("prepare needs an order")
	}
	if ask.Do == proto.DoProbe {
		var built func()
		ctx, built = n.building(ctx, ask.Cell)
		defer built()
	}
	w, err := n.worker(ctx, ask.Cell, ask.Place)
	if err != nil {
		return refuse("%v", err)
	}
	if err := n.config.Backend.LetPoll(ask.Cell); err != nil {
		return refuse("%v", err)
	}
	n.atPort(&ask)
	n.inVM(&ask)
	reply, err := w.ask(ctx, relayLimit(ask), ask)
	if err != nil {
		return refuse("the worker in %s: %v%s", ask.Place, err, w.lastWords())
	}
	if ask.Do == proto.DoPrepare {
		n.mu.Lock()
		n.prepared[ask.Cell] = append(n.prepared[ask.Cell], preparedPair{w, ask.Pair, ask.Beside, ask.Order.Role, ask.Place, Lingers(ask.Order.Kind, ask.Order.Load)})
		n.mu.Unlock()
	}
	return reply
}

// relayLimit is relayPatience, and what a program of others takes beside.
func relayLimit(ask proto.Request) time.Duration {
	kind, load := portLoad, result.Options{}
	if ask.Order != nil {
		kind, load = ask.Order.Kind, ask.Order.Load
	} else if ask.Probe != nil && ask.Probe.Generator != "" {
		load["generator"] = ask.Probe.Generator
	}
	_, most := Begins(kind, load)
	return relayPatience + most
}

func (n *node) close() error {
	n.mu.Lock()
	cells := make([]string, 0, len(n.graphs))
	for cell := range n.graphs {
		cells = append(cells, cell)
	}
	n.mu.Unlock()
	n.carriers.stop("")
	for _, cell := range cells {
		n.endWorkers(cell)
	}
	failed := errors.Join(n.config.Backend.Close(), n.journal.close())
	if n.config.Copied != "" && failed == nil { // else the journal says what is left, and this program can clean it
		failed = removeCopied(n.config.Copied)
	}
	if failed != nil && n.nics != nil {
		return failed
	}
	return errors.Join(failed, os.RemoveAll(n.config.Dir))
}
