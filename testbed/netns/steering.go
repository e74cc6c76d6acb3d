package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// steerEnd brings a device's receive work to this node's CPUs, in the way that
// the graph asks for, and switches the other way off.
func (c *cell) steerEnd(p testbed.Interface) error {
	stack := c.stacks[p.Place]
	if stack == nil {
		return nil
	}
	return stack.Do(func() error {
		rps := p.Steering == testbed.SteerRPS || p.Found.Receive == testbed.ReceiveByRPS
		if err := steerRPS(stack.device(p.Device), rps, c.receive(p)); err != nil {
			return err
		}
		threads, err := steerThreaded(stack, p, c.receive(p))
		c.receivers[p.Place+"/"+p.Device] = threads
		return err
	})
}

// Receivers are the receive threads of a cell's interfaces on this node.
func (b *Backend) Receivers(cell string) (threads []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.cells[cell]; c != nil {
		for _, of := range c.receivers {
			threads = append(threads, of...)
		}
	}
	return threads
}

// receive are the CPUs for a device's receive work.
func (c *cell) receive(p testbed.Interface) []int {
	if len(p.CPUs) > 0 {
		return p.CPUs
	}
	return c.cpus
}

// device is a device's folder in the stack's sysfs.
func (s *Stack) device(name string) string { return filepath.Join(s.sysfs, "class/net", name) }

// steerRPS writes the CPUs to every receive queue: veth hands packets to the
// backlog of the CPU that sends them unless this says otherwise
// (Documentation/networking/scaling.rst).
func steerRPS(device string, on bool, cpus []int) error {
	mask := "0"
	if on {
		if err := checkOnline(cpus); err != nil {
			return err
		}
		mask = cpuMask(cpus)
	}
	queues, err := filepath.Glob(device + "/queues/rx-*/rps_cpus")
	if err != nil || on && len(queues) == 0 {
		return fmt.Errorf("%s has no receive queue to steer: this kernel lacks RPS (CONFIG_RPS)", filepath.Base(device))
	}
	for _, queue := range queues {
		if err := os.WriteFile(queue, []byte(mask), 0); err != nil {
			return fmt.Errorf("steering receive work: %w", err)
		}
	}
	return nil
}

// steerThreaded moves the device's NAPI to kernel threads and pins those. It
// wants the device up and GRO on, or there is no NAPI to move. It returns them.
func steerThreaded(stack *Stack, p testbed.Interface, cpus []int) (threads []int, err error) {
	device, share := p.Device, ShareReceive
	if p.Steering == testbed.SteerFirst {
		share = receiveFirst
	}
	file := stack.device(device) + "/threaded"
	if err := setThreaded(file, p.Threaded()); err != nil || !p.Threaded() {
		return nil, err
	}
	threads, err = napiThreads(stack, device)
	if err != nil {
		return nil, err
	}
	if len(threads) == 0 {
		return nil, fmt.Errorf("%s has no NAPI thread: the device must be up, with GRO on", device)
	}
	for i, thread := range threads {
		if err := errors.Join(pinThread(thread, ofQueue(p, cpus, i)), share(thread)); err != nil {
			return nil, fmt.Errorf("setting up the receive threads of %s: %w", device, err)
		}
	}
	return threads, nil
}

// ofQueue are the CPUs of a queue's receive thread.
func ofQueue(p testbed.Interface, cpus []int, queue int) []int {
	if !p.CPUAQueue || len(cpus) == 0 {
		return cpus
	}
	return cpus[queue%len(cpus):][:1]
}

// receiveSlice lets a receive thread run soon and shortly when there is work, as
// interrupts do (EEVDF's custom slices, Linux 6.12; older kernels choose their own).
const receiveSlice = 100 * time.Microsecond

// ShareReceive makes a receive thread an ordinary one that shares its CPU with the
// programs there, as ksoftirqd does when packets keep coming (handle_softirqs in
// kernel/softirq.c).
//
// Real-time priority, which comes closer to an interrupt, is worse in every way
// where a wake-up costs much, as in a VM: the thread then preempts the program, and
// is woken by the sender, for a few packets each time. Bulk TCP got 16.5 Gbit/s with
// all of the receiving CPU, 17.4 with 0.93 of it this way; messages of 1390 bytes 8.3
// and 12.2; and floods of datagrams left programs no time at all. SCHED_BATCH saved
// more wake-ups yet, but would wait for a tick beside a program that polls.
//
// A transmit queue before the ring would lose fewer packets, but the receiver wakes that
// queue (netif_tx_wake_queue in veth_xdp_rcv), so that its CPU does the sender's
// segmenting: half of the sending node's work then shows on the receiving one.
func ShareReceive(tid int) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(receiveSlice)}
	if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
		return fmt.Errorf("setting the time slice of thread %d: %w", tid, err)
	}
	return nil
}

// receiveFirst gives a receive thread its CPU as soon as there is something to do.
//
// It is for what only counts, beside senders that never rest: one of live frames leaves its CPU between two
// batches at most (bpf_test_timer_continue in net/bpf/test_run.c), and to a thread of its own class only
// when that one's turn has come, after milliseconds. A virtual pair's ring has 256 places
// (drivers/net/veth.c), so of 64-byte frames through XDP both ways it lost 99 %, and loses none this way.
// That NAPI looks by a timer instead of being woken (napi_defer_hard_irqs) cost the CPU more, in a VM.
func receiveFirst(tid int) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
		return fmt.Errorf("giving thread %d a real-time priority: %w", tid, err)
	}
	return nil
}

func setThreaded(file string, on bool) error {
	value := "0"
	if on {
		value = "1"
	}
	have, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && !on:
		return nil
	case err != nil:
		return fmt.Errorf("reading whether NAPI is threaded (Linux 5.12 and later): %w", err)
	case strings.TrimSpace(string(have)) == value:
		return nil
	}
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		return fmt.Errorf("switching threaded NAPI: %w", err)
	}
	return nil
}
