//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"windtunnel/agent/proto"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/testbed/vm"
)

// guestMachines are the virtual machines of a node's cells, beside a backend that builds everything else of their
// graphs.
type guestMachines struct {
	backend *netns.Backend
	config  NodeConfig
	journal *journal
	files   *vm.Files

	mu    sync.Mutex
	cells map[string]*booted
}

// booted are one cell's.
type booted struct {
	part    testbed.Graph // the node's of the cell's graph
	running []*vm.Machine
}

func newMachines(backend *netns.Backend, config NodeConfig, notes *journal) *guestMachines {
	m := &guestMachines{backend: backend, config: config, journal: notes, cells: map[string]*booted{}}
	if len(config.Worker) > 0 {
		m.files = vm.NewFiles(config.Worker[0], filepath.Join(config.Dir, "guests"))
	}
	return m
}

// same tells whether a graph asks for the machines that run for its cell already, on what they run on.
func (m *guestMachines) same(g testbed.Graph) bool {
	part := g.Part(m.config.Name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.cells[g.Cell]; c != nil {
		return len(testbed.Diff(c.part, part)) == 0
	}
	return len(part.VMs) == 0
}

// run boots a graph's machines, at once. What was booted before an error is taken away by remove.
func (m *guestMachines) run(ctx context.Context, g testbed.Graph) error {
	if m.same(g) {
		return nil
	}
	c := &booted{part: g.Part(m.config.Name).Clone()}
	m.mu.Lock()
	m.cells[g.Cell] = c
	m.mu.Unlock()
	qemu, err := netns.FindProgram(vm.Program())
	if err != nil {
		return fmt.Errorf("%w; apt-get install qemu-system", err)
	}
	config := vm.Config{
		Dir: m.dir(g.Cell), Files: m.files, QEMU: qemu, Find: netns.FindProgram, Note: m.journal.note,
		Start:   m.backend.Stack(g.Cell, m.config.Name).Start,
		Socket:  func(text string) string { return m.backend.InFolders(g.Cell, text) },
		Console: func() vm.Console { return &netns.Tail{Limit: 8 << 10} },
	}
	running, failed := make([]*vm.Machine, len(c.part.VMs)), make([]error, len(c.part.VMs))
	var booting sync.WaitGroup
	for i, v := range c.part.VMs {
		booting.Go(func() { running[i], failed[i] = vm.Boot(ctx, config, c.part, v) })
	}
	booting.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, machine := range running {
		if machine != nil {
			c.running = append(c.running, machine)
		}
	}
	return errors.Join(failed...)
}

// dir is the folder of a cell's machines.
func (m *guestMachines) dir(cell string) string {
	return filepath.Join(m.config.Dir, "vms-"+url.PathEscape(cell))
}

// of returns the machine that a place is an interface of, nil if it is none's.
func (m *guestMachines) of(cell, place string) *vm.Machine {
	for _, machine := range m.all(cell) {
		for _, nic := range machine.VM.NICs {
			if nic.Place == place {
				return machine
			}
		}
	}
	return nil
}

// all are those that run for a cell.
func (m *guestMachines) all(cell string) []*vm.Machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.cells[cell]; c != nil {
		return c.running
	}
	return nil
}

// names are those of the cells that have some.
func (m *guestMachines) names() (all []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for cell := range m.cells {
		all = append(all, cell)
	}
	return all
}

func (m *guestMachines) verify(cell string) error {
	var found error
	for _, machine := range m.all(cell) {
		found = errors.Join(found, machine.Alive())
	}
	return found
}

func (m *guestMachines) remove(cell string) error {
	m.mu.Lock()
	c := m.cells[cell]
	delete(m.cells, cell)
	m.mu.Unlock()
	if c == nil {
		return nil
	}
	var failed error
	for _, machine := range c.running {
		failed = errors.Join(failed, machine.Close())
	}
	return errors.Join(failed, os.RemoveAll(m.dir(cell)))
}

// atPort is the way to the worker of a virtual machine, which its first process starts.
type atPort struct{ machine *vm.Machine }

// start has one started.
func (a atPort) start(_ context.Context, _ []string) (*child, error) {
	conn, err := a.machine.Dial()
	if err != nil {
		return nil, err
	}
	c := &child{stdout: conn, exited: make(chan struct{})}
	c.stdin = &hangUp{Conn: conn, gone: c.exited}
	c.kill, c.said = c.stdin.Close, func() string { return a.machine.Said() }
	return c, nil
}

// hangUp is a connection whose end is that of the worker as far as this node has to do with it.
type hangUp struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

// Close closes the connection.
func (h *hangUp) Close() (err error) {
	h.once.Do(func() {
		err = h.Conn.Close()
		close(h.gone)
	})
	return err
}

// settle has the guests of a cell settle their interfaces, or verify them.
func (n *node) guests(ctx context.Context, do string, g testbed.Graph) error {
	part := g.Part(n.config.Name)
	failed := make([]error, len(part.VMs))
	var asking sync.WaitGroup
	for i, v := range part.VMs {
		asking.Go(func() {
			var interfaces []testbed.Interface
			for _, nic := range v.NICs {
				inside, _ := part.Attached(nic)
				interfaces = append(interfaces, inside)
			}
			w, err := n.worker(ctx, g.Cell, v.NICs[0].Place)
			if err == nil {
				_, err = w.ask(ctx, relayPatience, proto.Request{Do: do, Interfaces: interfaces, Container: v.Container})
			}
			if err != nil {
				failed[i] = fmt.Errorf("the virtual machine %s: %w", v.Name, err)
			}
		})
	}
	asking.Wait()
	return errors.Join(failed...)
}

// inVM gives an order for a place in a virtual machine that machine's CPUs.
func (n *node) inVM(ask *proto.Request) {
	v, _, ok := n.graph(ask.Cell).InVM(ask.Place)
	if !ok || ask.Order == nil {
		return
	}
	order := *ask.Order
	order.CPUs = nil
	for cpu := range v.CPUs {
		order.CPUs = append(order.CPUs, cpu)
	}
	ask.Order = &order
}
