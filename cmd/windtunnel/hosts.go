//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"windtunnel/agent"
	"windtunnel/agent/proto"
	"windtunnel/agent/ssh"
	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/testbed"
	"windtunnel/testbed/vm"
)

// lookWithin is how long hosts may take to say what they can do, and closeWithin how long an agent there
// to put everything back: a physical interface's carrier may take seconds.
const (
	lookWithin  = 30 * time.Second
	closeWithin = 20 * time.Second
)

// remote is a node's agent on another host.
type remote struct {
	host   ssh.Host
	system ssh.System
	folder string // where its programs are there; "": they remove themselves
	client *agent.Client
	found  proto.Host
}

// remotes are the agents on all hosts.
type remotes []*remote

// runOnHosts is `windtunnel run --nodes`. Everything that can be refused without the hosts is refused
// before they are touched.
func runOnHosts(ctx context.Context, s streams, spec scenario.Spec, settings run.Settings, f runFlags, dir string) error {
	hosts, err := hostsOf(spec, f.nodes)
	if err != nil {
		return refused(err)
	}
	needs, err := rehearse(spec, settings, hosts)
	if err != nil {
		return refused(err)
	}
	end, err := executeOnHosts(ctx, s, spec, settings, hosts, needs, dir)
	if end.Why == "" {
		return unbegun(err)
	}
	return conclude(s, dir, end, err, f.report)
}

func executeOnHosts(ctx context.Context, s streams, spec scenario.Spec, settings run.Settings, hosts []ssh.Host, needs needed, dir string) (end result.End, err error) {
	ctx, progressTo, stop := untilCutOff(ctx, s.err)
	defer stop()
	defer func() { err = interrupted(ctx, end, err) }()
	there, err := reach(ctx, hosts, needs, spec.Suite)
	defer func() { err = errors.Join(err, there.close()) }()
	if err != nil {
		return end, err
	}
	plan, err := there.plan(spec, settings)
	if err != nil {
		return end, err
	}
	out, err := result.Create(dir)
	if err != nil {
		return end, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return conduct(ctx, progressTo, plan, there.nodes(plan), out, header(dir, false))
}

// needed are the programs of a suite: those that are brought to hosts, and those that these may have.
type needed struct {
	ours, others []string
	engine       bool // the hosts' container engines are used
	guest        bool // virtual machines are booted
}

// pollPrograms are ours, but are built apart and run on DPDK's libraries.
var pollPrograms = []string{"vrouter-poll", "frame-poll"}

// manyQueues are more than a suite may ask for.
const manyQueues = 4096

// rehearse plans the suite on hosts that have everything, which finds every mistake of the suite and the
// flags and every program.
func rehearse(spec scenario.Spec, settings run.Settings, hosts []ssh.Host) (needed, error) {
	needs := needed{ours: []string{"windtunnel"}}
	add := func(list *[]string, name string) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	find := func(name string) error { add(&needs.others, name); return nil }
	all := run.Host{Nodes: map[string]run.Host{}}
	for i, h := range hosts {
		nics := rehearsed(i, cmp.Or(len(h.Data), len(toward(hosts, i)), 1)) // as its agent counts them
		cpus := make([]int, 64)
		for cpu := range cpus {
			cpus[cpu] = cpu
		}
		all.Nodes[h.Node] = run.Host{CPUs: cpus, MemoryBytes: 1 << 50, NIC: &nics[0], Members: nics[1:], Engine: &testbed.HostEngine{Socket: socketOf(h)}, Find: find}
	}
	plan, err := run.MakePlan(spec, all, settings)
	if err != nil {
		return needs, err
	}
	for _, cell := range plan.Runnable() {
		needs.engine = needs.engine || len(cell.Laid.Graph.Engines) > 0
		needs.guest = needs.guest || len(cell.Laid.Graph.VMs) > 0
		for _, d := range cell.Laid.Graph.Daemons {
			if d.Program == "vrouter" {
				add(&needs.ours, d.Program)
			}
		}
	}
	if needs.guest { // whatever architecture it was rehearsed with
		for _, program := range emulators() {
			add(&needs.others, program)
		}
	}
	if err := anyRuns(plan); err != nil {
		return needs, err
	}
	return needs, nil
}

// emulators are what runs virtual machines, on hosts of all architectures.
func emulators() []string { return []string{datapath.QEMU("amd64").Name, datapath.QEMU("arm64").Name} }

// rehearsed are so many interfaces of the i-th host, each of a network of its own.
func rehearsed(i, count int) (all []run.NIC) {
	for n := range count {
		all = append(all, run.NIC{Device: fmt.Sprintf("eth%d", n), Address: fmt.Sprintf("198.18.%d.%d/24", n, i+1), Queues: run.AnyQueues, // of RFC 2544, section C.2.2
			Channels: testbed.Channels{MostCombined: manyQueues}, Table: manyQueues, Steers: true})
	}
	return all
}

// everything is what any suite may need.
func everything() needed {
	needs := needed{ours: []string{"windtunnel", "vrouter"}, engine: true, guest: true}
	for _, path := range paths.All() {
		if !datapath.OverHosts(path) || datapath.InPlace(path) {
			continue
		}
		for _, p := range datapath.Programs(path) {
			needs.others = append(needs.others, p.Name)
		}
	}
	needs.others = slices.Concat(needs.others, emulators(), []string{vm.Passt}, pollPrograms)
	return needs
}

// reach starts the agents on all hosts, and has them look. What it returns is to be closed, also if some
// could not be reached.
func reach(ctx context.Context, hosts []ssh.Host, needs needed, work string) (remotes, error) {
	all := make(remotes, len(hosts))
	bad := make([]error, len(hosts))
	var reaching sync.WaitGroup
	for i, h := range hosts {
		all[i] = &remote{host: h}
		reaching.Go(func() {
			if err := all[i].reach(ctx, needs, work, toward(hosts, i)); err != nil {
				bad[i] = fmt.Errorf("node %s: %w", h.Node, err)
			}
		})
	}
	reaching.Wait()
	return all, errors.Join(bad...)
}

// toward are the data addresses of another node that has some.
func toward(hosts []ssh.Host, i int) []netip.Addr {
	for j, other := range hosts {
		if j != i && len(other.Data) > 0 {
			return other.Data
		}
	}
	return nil
}

func (r *remote) reach(ctx context.Context, needs needed, work string, toward []netip.Addr) error {
	system, err := r.host.Look(ctx)
	if err != nil {
		return err
	}
	r.system = system
	if system.Builds() {
		err = r.bring(ctx, system, needs, work, toward)
	} else {
		r.client, err = enterHost(ctx, r.host, system, work, toward)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	socket := ""
	if needs.engine {
		socket = socketOf(r.host)
	}
	r.found, err = r.client.Look(ctx, needs.others, socket)
	if r.found.Engine != nil {
		r.found.Engine.Socket = socket // whatever was answered
	}
	if linux := r.found.System == ""; err == nil && linux != system.Builds() {
		return fmt.Errorf("its shell says that it is %s, and its agent that it is %s", system.OS, cmp.Or(r.found.System, "linux"))
	}
	return err
}

// bring starts the agent of a host on which testbeds are made, with all programs that they need.
func (r *remote) bring(ctx context.Context, system ssh.System, needs needed, work string, toward []netip.Addr) error {
	programs, err := ssh.Programs(system, needs.ours)
	if err != nil {
		return err
	}
	for _, name := range pollPrograms {
		if slices.Contains(needs.others, name) {
			if extra, err := ssh.Programs(system, []string{name}); err == nil { // else the plan says what is missing
				programs = append(programs, extra...)
			}
		}
	}
	if needs.guest {
		kernel, err := ssh.Guest(system)
		if err != nil {
			return err
		}
		programs = append(programs, kernel...)
	}
	if r.folder, err = r.host.Bring(ctx, programs); err != nil {
		return err
	}
	r.client, err = agent.Spawn(r.host.Node, r.host.Agent(r.folder, work, toward))
	return err
}

// socketOf is where a host's container engine listens.
func socketOf(h ssh.Host) string { return cmp.Or(h.Engine, testbed.EngineSocket) }

// close ends the agents, and has hosts swept whose agent did not end by itself.
func (all remotes) close() error {
	bad := make([]error, len(all))
	var closing sync.WaitGroup
	for i, r := range all {
		closing.Go(func() { bad[i] = r.close() })
	}
	closing.Wait()
	return errors.Join(bad...)
}

func (r *remote) close() error {
	var err error
	if r.client != nil {
		if err = r.client.CloseWithin(closeWithin); err == nil {
			return nil
		}
	}
	if r.folder == "" {
		return err
	}
	if swept := r.host.Sweep(r.folder); swept != nil {
		return errors.Join(err, fmt.Errorf("node %s: looking after what is left: %w; an agent that is cut off takes everything away by itself, and `windtunnel clean` there what a killed one left", r.host.Node, swept))
	}
	return err
}

// plan lays the suite out on the hosts as they are.
func (all remotes) plan(spec scenario.Spec, settings run.Settings) (run.Plan, error) {
	host := run.Host{Nodes: map[string]run.Host{}}
	var without error
	for _, r := range all {
		if r.found.NIC == nil && len(all) > 1 {
			without = errors.Join(without, fmt.Errorf("node %s (%s): %s", r.host.Node, r.host, r.found.NoNIC))
		}
		host.Nodes[r.host.Node] = r.planned()
	}
	if without != nil {
		return run.Plan{}, failed(without)
	}
	plan, err := run.MakePlan(spec, host, settings)
	if err != nil {
		return plan, refused(err)
	}
	for i := range plan.Nodes {
		for _, r := range all {
			if r.host.Node == plan.Nodes[i].Name {
				plan.Nodes[i].Host = r.host.String()
			}
		}
	}
	return plan, anyRuns(plan)
}

func (r *remote) planned() run.Host {
	h := run.Host{System: r.found.System, Architecture: r.system.Architecture, CPUs: r.found.CPUs, MemoryBytes: r.found.MemoryBytes, Kernel: r.found.Kernel, Missing: r.found.Missing,
		NoNIC: r.found.NoNIC, Engine: r.found.Engine, NoEngine: r.found.NoEngine}
	if r.found.NIC != nil {
		h.NIC = &r.found.NIC.NIC
		for _, member := range r.found.Members {
			h.Members = append(h.Members, member.NIC)
		}
	}
	h.Find = func(program string) error {
		if why := r.found.Unfit[program]; why != "" {
			return run.Unfit(why)
		}
		if why := r.found.Programs[program]; why != "" {
			return errors.New(why)
		}
		return nil
	}
	return h
}

// nodes are the clients in the plan's order.
func (all remotes) nodes(plan run.Plan) []run.Node {
	var nodes []run.Node
	for _, n := range plan.Nodes {
		for _, r := range all {
			if r.host.Node == n.Name {
				nodes = append(nodes, r.client)
			}
		}
	}
	return nodes
}
