package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/measure/system"
	"windtunnel/result"
	"windtunnel/testbed"
)

// PlainConfig is what the agent of a machine that is no Linux is started with. Nothing is built there: it runs the ends
// of pairs in the machine's own stack, and reads what the system counts.
type PlainConfig struct {
	Name    string
	Release string
	Remove  string // the folder in which this program was brought; empty: it was there
	Sum     string // the SHA-256 that it must have, in hexadecimal; empty: it is not asked
	// Hold is for what the machine is taken, which one run has at a time; empty: it is not, as a place is not.
	Hold string
	// Way is by which interface the data of a host's node goes; nil: the machine is a place that runs already.
	Way *PlainWay
	// Machine is read; nil: the one that this is.
	Machine system.Machine
}

// ServePlain is such an agent, until in ends or nothing was heard for five seconds.
func ServePlain(ctx context.Context, in io.Reader, out io.Writer, config PlainConfig) (err error) {
	damaged := checkSelf(config.Sum) // as long as its file is there
	if config.Remove != "" {
		removeAbandoned(config.Remove)
		end, failed := removeWithUs(config.Remove)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	if damaged != nil {
		return damaged
	}
	if config.Hold != "" {
		release, failed := Hold(config.Hold)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	if config.Machine == nil {
		if config.Machine, err = system.Open(); err != nil {
			return fmt.Errorf("looking at this machine: %w", err)
		}
	}
	p := &plainNode{config: config, cells: map[string]*plainCell{}}
	if p.place, err = p.lookAround(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.watchdog = time.AfterFunc(heartbeatLimit, func() {
		cancel(fmt.Errorf("no word from the conductor for %s", heartbeatLimit))
	})
	err = serve(ctx, newLines(in, out), p.hello(), p.handle)
	p.watchdog.Stop()
	return errors.Join(err, within(answerPatience, "ending the traffic", func() error { p.drop(); return nil }))
}

// plainNode is such an agent's state. Requests come one at a time, but for stop and heartbeat; the mutex is for those.
type plainNode struct {
	config   PlainConfig
	place    proto.Place
	watchdog *time.Timer

	mu    sync.Mutex
	cells map[string]*plainCell
}

// plainCell is a cell that was applied. Its worker is in this process: what ends one ends both.
type plainCell struct {
	graph  testbed.Graph
	links  []system.Link
	worker *worker
	trial  *plainTrial
}

// plainTrial is a trial that runs, or has run and waits to be asked for.
type plainTrial struct {
	cancel context.CancelFunc
	done   chan struct{}
	result proto.NodeTrial
	err    error
}

func (p *plainNode) hello() proto.Hello {
	return proto.Hello{
		Windtunnel: proto.Version, Role: "node", Release: p.config.Release, PID: os.Getpid(),
		Capabilities: []string{proto.DoPlace, proto.DoApply, proto.DoVerify, proto.DoProbe, proto.DoCalibrate, proto.DoPrepare,
			proto.DoFound, proto.DoLook, proto.DoStart, proto.DoResult, proto.DoStop, proto.DoHeartbeat},
		Fingerprint: p.fingerprint(), Place: &p.place,
	}
}

func (p *plainNode) fingerprint() result.Fingerprint {
	f := p.config.Machine.Facts()
	print := result.Fingerprint{"tool.go": runtime.Version(), "cpu.architecture": runtime.GOARCH, "cpu.count": fmt.Sprint(f.CPUs),
		"memory.total": fmt.Sprintf("%d kB", f.MemoryBytes>>10), "kernel.release": f.Release, "os.name": f.Name}
	if f.CPU != "" {
		print["cpu.model"] = f.CPU
	}
	return print
}

// lookAround tells what the machine is.
func (p *plainNode) lookAround() (proto.Place, error) {
	f := p.config.Machine.Facts()
	place := proto.Place{Machine: f.Identity, Stack: f.Identity, CPUs: numbered(f.CPUs)}
	anywhere := netip.AddrFrom4([4]byte{192, 0, 2, 1}) // RFC 5737: nobody's, so it is reached as anything is
	from, _ := localAddress(anywhere)
	var err error
	place.Addresses, err = addressesHere(system.Device, func(link net.Interface) bool { return hasAddress(link, from) })
	return place, err
}

func numbered(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func hasAddress(link net.Interface, address netip.Addr) bool {
	addresses, err := link.Addrs()
	if err != nil || !address.IsValid() {
		return false
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr() == address {
			return true
		}
	}
	return false
}

func (p *plainNode) handle(ctx context.Context, ask proto.Request) proto.Reply {
	p.watchdog.Reset(heartbeatLimit)
	switch ask.Do {
	case proto.DoHeartbeat, proto.DoFound:
		return proto.Reply{}
	case proto.DoPlace, proto.DoVerify:
		return p.verify(ask)
	case proto.DoApply:
		return p.apply(ask)
	case proto.DoProbe, proto.DoPrepare, proto.DoCalibrate:
		return p.relay(ctx, ask)
	case proto.DoLook:
		return p.look(ask.Programs, ask.Engine)
	case proto.DoStart:
		return p.start(ctx, ask)
	case proto.DoResult:
		return p.result(ctx, ask)
	case proto.DoStop:
		return p.stop(ask.Cell)
	}
	return refuse("an agent on %s does not know %q", runtime.GOOS, ask.Do)
}

// verify refuses a graph that would have something built here, or whose interfaces are not there.
func (p *plainNode) verify(ask proto.Request) proto.Reply {
	if ask.Graph == nil {
		return refuse("%s needs a graph", ask.Do)
	}
	if _, err := p.linksOf(*ask.Graph); err != nil {
		return refuse("%v", err)
	}
	return proto.Reply{}
}

// linksOf are the interfaces of a graph that carry its traffic here.
func (p *plainNode) linksOf(g testbed.Graph) ([]system.Link, error) {
	name := p.config.Name
	part := g.Part(name)
	node, _ := g.Node(name)
	if part.Builds() || len(g.Nodes) > 0 && len(node.Exec) == 0 && !node.InPlace {
		return nil, fmt.Errorf("node %s is %s, where nothing is built: take the path wire between hosts, or existing", name, p.config.Machine.Facts().Name)
	}
	var links []system.Link
	add := func(device, role string) error {
		link, err := system.ByDevice(device)
		if l := (system.Link{Place: name, Device: device, Index: link.Index, Role: role}); err == nil && !slices.Contains(links, l) {
			links = append(links, l) // once, though a host has one for all its wires
		}
		return err
	}
	for _, device := range node.Devices {
		if err := add(device, result.RoleEndpoint); err != nil {
			return nil, err
		}
	}
	for _, l := range part.Links {
		for _, end := range l.Ends {
			if end.Place != name {
				continue
			}
			if l.Kind != testbed.WireNetwork {
				return nil, fmt.Errorf("the link %s would have to be made, and nothing is built on %s", l.Name, p.config.Machine.Facts().Name)
			}
			if err := errors.Join(add(end.Device, l.Role), checkMTU(end)); err != nil {
				return nil, err
			}
		}
	}
	return links, nil
}

// checkMTU refuses an interface that has become too narrow.
func checkMTU(end testbed.Interface) error {
	link, err := system.ByDevice(end.Device)
	if err == nil && link.MTU < end.MTU {
		err = fmt.Errorf("the interface %s has the MTU %d by now, and the cell was laid for %d", end.Device, link.MTU, end.MTU)
	}
	return err
}

func (p *plainNode) apply(ask proto.Request) proto.Reply {
	if ask.Graph == nil {
		return refuse("apply needs a graph")
	}
	links, err := p.linksOf(*ask.Graph)
	if err != nil {
		return refuse("%v", err)
	}
	p.mu.Lock()
	old := p.cells[ask.Cell]
	delete(p.cells, ask.Cell)
	if len(ask.Graph.Nodes) > 0 {
		p.cells[ask.Cell] = &plainCell{graph: *ask.Graph, links: links, worker: &worker{}}
	}
	p.mu.Unlock()
	old.drop()
	return proto.Reply{}
}

// cell returns one that was applied.
func (p *plainNode) cell(name string) (*plainCell, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.cells[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("there is no cell %q here", name)
}

// relay hands a request to the worker.
func (p *plainNode) relay(ctx context.Context, ask proto.Request) proto.Reply {
	c, err := p.cell(ask.Cell)
	if err != nil {
		return refuse("%v", err)
	}
	if c.graph.NodeOf(ask.Place) != p.config.Name {
		return refuse("cell %q has no place %q on node %s", ask.Cell, ask.Place, p.config.Name)
	}
	if ask.Order != nil && (runtime.GOOS != "windows" || len(p.place.CPUs) > pinnable) {
		ask.Order.CPUs = nil // threads run where the system puts them
	}
	return c.worker.handle(ctx, ask)
}

// pinnable is how many CPUs a thread can be bound to: those of one of Windows' processor groups. macOS binds to none.
const pinnable = 64

// start lets the prepared ends of a cell run and samples the machine over exactly the window: both happen at times
// counted from this message's arrival.
func (p *plainNode) start(ctx context.Context, ask proto.Request) proto.Reply {
	arrived := time.Now()
	c, err := p.cell(ask.Cell)
	if err != nil {
		return refuse("%v", err)
	}
	if ask.Start == nil {
		return refuse("start needs its times")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.trial != nil {
		return refuse("a trial of cell %s runs already", ask.Cell)
	}
	if reply := c.worker.start(ctx, ask); reply.Error != "" {
		return reply
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &plainTrial{cancel: cancel, done: make(chan struct{})}
	if ask.Start.Profile {
		t.result.Profile = &result.Profile{Missing: "stacks are sampled on Linux, and this is " + p.config.Machine.Facts().Name}
	}
	c.trial = t
	go func() {
		defer close(t.done)
		t.run(ctx, p, c, arrived.Add(seconds(ask.Start.InSeconds+ask.Start.WarmUpSeconds)), seconds(ask.Start.WindowSeconds))
	}()
	return proto.Reply{}
}

func (t *plainTrial) run(ctx context.Context, p *plainNode, c *plainCell, opens time.Time, window time.Duration) {
	if t.err = sleepUntil(ctx, opens); t.err != nil {
		return
	}
	before := system.Read(p.config.Machine, c.links)
	if t.err = sleepUntil(ctx, opens.Add(window)); t.err != nil {
		return
	}
	t.result.Sample = system.Between(before, system.Read(p.config.Machine, c.links), c.links, p.config.Name)
	t.result.Sample.Machine = p.place.Machine
	reply := c.worker.result(ctx)
	t.result.Ends = reply.Ends
	if reply.Error != "" {
		t.err = errors.New(reply.Error)
	}
}

// result waits for the trial's end.
func (p *plainNode) result(ctx context.Context, ask proto.Request) proto.Reply {
	c, err := p.cell(ask.Cell)
	if err != nil {
		return refuse("%v", err)
	}
	p.mu.Lock()
	t := c.trial
	p.mu.Unlock()
	if t == nil {
		return refuse("no trial of cell %q was started on node %s", ask.Cell, p.config.Name)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return refuse("waiting for the trial's end: %v", ctx.Err())
	}
	p.mu.Lock()
	if c.trial == t {
		c.trial = nil
	}
	p.mu.Unlock()
	t.cancel()
	if t.err != nil {
		return refuse("sampling node %s: %v", p.config.Name, t.err)
	}
	return proto.Reply{Trial: &t.result}
}

// stop ends a running trial of a cell and drops what is prepared for it.
func (p *plainNode) stop(cell string) proto.Reply {
	p.mu.Lock()
	c := p.cells[cell]
	var t *plainTrial
	if c != nil {
		t, c.trial = c.trial, nil
	}
	p.mu.Unlock()
	t.end()
	c.drop()
	return proto.Reply{}
}

// end ends a trial, if there is one.
func (t *plainTrial) end() {
	if t != nil {
		t.cancel()
		<-t.done
	}
}

// drop frees what a cell's worker has, if there is one.
func (c *plainCell) drop() {
	if c != nil {
		c.worker.drop()
	}
}

func (p *plainNode) drop() {
	p.mu.Lock()
	var names []string
	for name := range p.cells {
		names = append(names, name)
	}
	p.mu.Unlock()
	for _, name := range names {
		p.stop(name)
	}
}

// look tells what there is to plan with.
func (p *plainNode) look(programs []string, engine string) proto.Reply {
	f := p.config.Machine.Facts()
	h := proto.Host{System: f.Name, CPUs: p.place.CPUs, MemoryBytes: int64(f.MemoryBytes), Kernel: f.Release,
		Missing: map[string]string{}, Programs: map[string]string{}}
	for _, feature := range testbed.Features {
		h.Missing[feature] = "this is " + f.Name + ", and testbeds are made of Linux"
	}
	for _, name := range programs {
		h.Programs[name] = "this is " + f.Name + ", where only windtunnel itself runs"
	}
	if engine != "" {
		h.NoEngine = "container engines are used on Linux, and this is " + f.Name
	}
	if p.config.Way != nil {
		nic, err := p.config.Way.find(p.place.Addresses, p.config.Machine)
		if err != nil {
			h.NoNIC = err.Error()
		} else {
			h.NIC = &nic
		}
	}
	return proto.Reply{Host: &h}
}
