package poll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/offload"
)

// Options say how the process is run.
type Options struct {
	// Name is the vRouter's, for others to see.
	Name string
	// Program is the path of vrouter-poll.
	Program string
	// CPUs are those that forward, and have nothing else to do; without any it is the last that this
	// process may use.
	CPUs []int
	// Pause lets the CPU sleep for so long, once and again, when there were no packets for a while. It
	// costs latency of about as much; 0 never sleeps.
	Pause time.Duration
	// Patience is how long there have to be no packets before the first pause: a thousand rounds, if that is
	// longer.
	Patience time.Duration
	// HandOver has what a CPU reads at a port that has fewer queues than there are CPUs forwarded by all of them, a flow always by
	// the same. Without it who reads a packet forwards it.
	HandOver bool
	// Memory is what packets are in; empty is ordinary.
	Memory Memory
	// Pinned tells that a device is to read and write the packets' memory by itself: then all of it is taken
	// at the start, so that there is less.
	Pinned bool
	// Log gets what the process says while it lives, lines of bounded length and number; nil is nobody.
	Log io.Writer
	// Blocks is the size of the route tables.
	Blocks uint32
	// Hosts is the size of the hosts' table, a power of two.
	Hosts uint32
	// Flows is how many flows there may be: config.DefaultFlows if it is 0.
	Flows uint32
}

// Plane is the process and its tables. Its methods must not be called concurrently, but for Status
// and those of the flows.
type Plane struct {
	options Options
	image   *image
	flows   *config.Flows
	silence silence
	hush    hush
	log     *log
	stop    context.CancelFunc
	watch   sync.WaitGroup

	mu       sync.Mutex // of what follows
	process  *process   // nil while there is none
	attached map[uint32]config.Attachment
	taps     map[uint32]*os.File // of those that have one
	problem  error
	restarts int
	rules    *ruleTable // that devices were given; nil: none

	offloaded offload.Account // by all rules that there were
}

// Start makes the tables, and runs the process.
func Start(options Options) (*Plane, error) {
	var err error
	if options.CPUs, err = ChooseCPUs(options.CPUs); err != nil {
		return nil, err
	}
	options.Flows = cmp.Or(options.Flows, config.DefaultFlows)
	image, err := makeImage(size{options.Blocks, options.Hosts, options.Flows}, len(options.CPUs))
	if err != nil {
		return nil, err
	}
	p := &Plane{options: options, image: image, attached: make(map[uint32]config.Attachment), taps: make(map[uint32]*os.File), log: newLog(options.Log)}
	p.silence, err = newSilence(options.Name)
	if err == nil {
		err = p.openFlows()
	}
	if err == nil {
		p.process, err = startProcess(options, image, p.log)
	}
	if err != nil {
		_ = p.silence.close() // it has taken nothing
		image.close()
		p.log.close()
		return nil, err
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	p.watch.Add(1)
	go p.supervise(ctx)
	return p, nil
}

// Close ends the process. What forwards ends with it.
func (p *Plane) Close() error {
	p.stop()
	p.watch.Wait()
	var err error
	if p.process != nil {
		err = p.process.close()
	}
	err = errors.Join(err, p.leaveXDP(), p.silence.close(), p.hush.close())
	for _, tap := range p.taps {
		err = errors.Join(err, tap.Close())
	}
	if p.rules != nil {
		p.rules.close()
	}
	p.image.close()
	p.log.close()
	return err
}

// Attach makes the ports what is asked for. What is there already stays untouched.
func (p *Plane) Attach(fabric config.Attachment, vifs []config.Attachment) error {
	wanted := map[uint32]config.Attachment{0: fabric}
	if fabric.Host != "" {
		wanted[hostVif] = config.Attachment{Vif: hostVif, Interface: fabric.Host, Driver: config.DriverTap}
	}
	for _, vif := range vifs {
		wanted[vif.Vif] = vif
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for vif, at := range p.attached {
		if wanted[vif] != at {
			if err := p.detach(at); err != nil {
				return err
			}
		}
	}
	for _, vif := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := p.attached[vif]; there {
			continue
		}
		if err := p.attach(wanted[vif]); err != nil {
			return err
		}
	}
	return nil
}

// hostVif stands for the host, beside a fabric that is none of its interfaces.
const hostVif = core.MaxVifs

// attach opens one port. The host's stack is made deaf and dumb there before.
func (p *Plane) attach(at config.Attachment) error {
	err := p.silence.begin(at)
	if err == nil && at.Driver == config.DriverTap {
		p.taps[at.Vif], err = openTap(at)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("taking %s for poll mode: %w", at.Interface, err), p.forget(at))
	}
	p.attached[at.Vif] = at // also if there is no process now: the next one gets it
	if p.process == nil {
		return nil
	}
	if err := p.process.add(at, p.taps[at.Vif]); err != nil && at.Driver != config.DriverVirtioClient { // that one is tried again
		return errors.Join(fmt.Errorf("taking %s for poll mode: %w", at.Interface, err), p.forget(at))
	}
	return nil
}

func (p *Plane) detach(at config.Attachment) error {
	if p.process != nil {
		if err := p.process.remove(at); err != nil && p.process.alive() && at.Driver != config.DriverVirtioClient {
			return fmt.Errorf("giving back %s: %w", at.Interface, err)
		}
	}
	return p.forget(at)
}

// forget gives back what the agent has of a port.
func (p *Plane) forget(at config.Attachment) error {
	delete(p.attached, at.Vif)
	err := errors.Join(offXDP(at), p.silence.end(at))
	if tap := p.taps[at.Vif]; tap != nil {
		err = errors.Join(err, tap.Close())
	}
	delete(p.taps, at.Vif)
	return err
}

// startAgain is how long to wait before a process that has ended is started anew.
const startAgain = 200 * time.Millisecond

// lookAgain is how often a switch is looked for that has gone.
const lookAgain = time.Second

// supervise starts the process anew when it ends by itself: its tables and counters are still there.
func (p *Plane) supervise(ctx context.Context) {
	defer p.watch.Done()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			p.reconnect()
			continue
		case <-p.ended():
		}
		p.replace()
		select {
		case <-ctx.Done():
			return
		case <-time.After(startAgain):
		}
	}
}

// ended is closed when the process is not there.
func (p *Plane) ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		return p.process.done
	}
	now := make(chan struct{})
	close(now)
	return now
}

// replace starts another process in place of one that has ended, or could not be started.
func (p *Plane) replace() {
	p.bury()
	p.flows.Recover() // without the lock, which whoever takes flows out needs meanwhile
	p.revive()
}

// bury lets go of a process that has ended.
func (p *Plane) bury() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil {
		p.problem = fmt.Errorf("the poll mode's process has ended: %w", p.process.failure())
		_ = p.process.close() // it has ended, and said how
		p.process = nil
	}
}

func (p *Plane) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.leaveXDP()
	process, failed := startProcess(p.options, p.image, p.log)
	err = errors.Join(err, failed)
	for _, vif := range slices.Sorted(maps.Keys(p.attached)) {
		if at := p.attached[vif]; err == nil {
			if err = process.add(at, p.taps[vif]); at.Driver == config.DriverVirtioClient && process.alive() {
				err = nil // it is tried again
			}
		}
	}
	if err == nil {
		err = p.giveAgain(process)
	}
	if err != nil {
		p.problem = fmt.Errorf("starting the poll mode's process anew: %w", err)
		if process != nil {
			_ = process.close()
		}
		return
	}
	p.process, p.problem = process, nil
	p.restarts++
}

// reconnect looks for the switches of ports that are connected to none: DPDK's driver does not by itself.
func (p *Plane) reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil || !p.process.alive() {
		return
	}
	for vif, at := range p.attached {
		if at.Driver != config.DriverVirtioClient {
			continue
		}
		linked, err := p.process.linked(vif)
		if err == nil && linked {
			continue
		}
		if err == nil {
			_ = p.process.remove(at) // what cannot be removed cannot be added, either, and stays as it is
		}
		_ = p.process.add(at, nil) // Links tells that nobody is there
	}
}

// Problem is what keeps the process from running, nil while it runs.
func (p *Plane) Problem() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// Status is what the process and its CPUs do.
type Status struct {
	PID, Restarts int
	Memory        Memory // of the process that runs
	HandOver      bool
	Cores         []Core
}

// Core is what a CPU does that forwards.
type Core struct {
	CPU               int
	Busy, Idle, Hertz uint64 // cycles
	Bursts, Packets   uint64 // that were received
	// Handed are those of the received ones that other CPUs have forwarded.
	Handed uint64
	// Missed are those that came while a socket had no room. The kernel dropped them.
	Missed uint64
	// Timed are the packets of those rounds whose cycles Stages tells.
	Timed  uint64
	Stages [len(Stages)]uint64
	// HostSent and HostLost are the host's own packets, by a fabric that is none of its interfaces.
	HostSent, HostLost uint64
}

// Status reads it.
func (p *Plane) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Restarts: p.restarts, HandOver: p.options.HandOver}
	for i, a := range p.image.accounts {
		c := Core{
			CPU: p.options.CPUs[i], Busy: a.word(busyAt), Idle: a.word(idleAt), Hertz: a.word(hertzAt),
			Bursts: a.word(burstsAt), Packets: a.word(foundAt), Timed: a.word(timedAt), Missed: a.word(missedAt),
			Handed: a.word(handedAt), HostSent: a.word(hostSentAt), HostLost: a.word(hostLostAt),
		}
		for stage := range c.Stages {
			c.Stages[stage] = a.word(stagesAt + 8*stage)
		}
		s.Cores = append(s.Cores, c)
	}
	if p.process != nil && p.process.alive() {
		s.Memory = p.process.memory
		s.PID = p.process.command.Process.Pid
	}
	return s
}

// Features lists what this mode uses.
func (p *Plane) Features() []string {
	return []string{"dpdk", "af_packet", "af_xdp", "vhost_user", "virtio_user", "tap", "pci"}
}

// A grace period: how long one round may take at most, and how often it is looked for.
const (
	quiesceLimit = 5 * time.Second
	quiesceTick  = 20 * time.Microsecond
)

// Quiesce waits until every packet that was under way is through: until each core has ended two rounds,
// the first of which may have begun before; and where packets are handed over, until each has ended two more, in which
// what was handed to it is through. A process that is not there has no packets under way.
func (p *Plane) Quiesce() error {
	err := p.quiesceOnce()
	if err == nil && p.options.HandOver {
		err = p.quiesceOnce()
	}
	return err
}

func (p *Plane) quiesceOnce() error {
	begun, end := make([]uint64, len(p.image.accounts)), time.Now().Add(quiesceLimit)
	for i, a := range p.image.accounts {
		begun[i] = a.word(roundsAt)
	}
	for i, a := range p.image.accounts {
		for ; a.word(roundsAt)-begun[i] < 2; time.Sleep(quiesceTick) {
			if p.gone() {
				return nil
			}
			if time.Now().After(end) {
				return fmt.Errorf("waiting for packets under way: a core of the poll mode's process has not finished a round within %v; is CPU %d free for it?", quiesceLimit, p.options.CPUs[i])
			}
		}
	}
	return nil
}

func (p *Plane) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process == nil || !p.process.alive()
}
