package netns

import (
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Receive threads with real-time priority stand for a NIC's interrupts. A kernel
// bounds what those take: when packets keep coming, softirqs go to ksoftirqd, an
// ordinary thread that shares the CPU with programs (handle_softirqs in
// kernel/softirq.c). Without such a bound a flood of datagrams that nothing
// aggregates left the receiving program no time at all: it got 0 to 1.6 of 12.7
// Gbit/s, and 4 to 6 once receive threads became ordinary. So an overloaded one
// becomes ordinary for as long as that lasts.
const (
	reliefEvery = 20 * time.Millisecond
	overloaded  = 0.95 // share of the time from which a receive thread takes too much
	recovered   = 0.35 // and under which it is as before; an even share is a half
	// reliefPriority comes before the receive threads.
	reliefPriority = receivePriority + 1
	// ordinarySlice lets an ordinary receive thread run soon and shortly (EEVDF's
	// custom slices, Linux 6.12; older kernels choose their own).
	ordinarySlice = 100 * time.Microsecond
)

// Relieve watches the receive threads of a cell, until stop is called: an
// overloaded one shares its CPU. Stop returns when all are as before.
func (b *Backend) Relieve(name string) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var tids []int
	if c := b.cells[name]; c != nil {
		for _, of := range c.receivers {
			tids = append(tids, of...)
		}
	}
	return RelieveThreads(tids)
}

// RelieveThreads is Relieve for receive threads by their ids.
func RelieveThreads(tids []int) (stop func()) {
	if len(tids) == 0 {
		return func() {}
	}
	var threads []*receiveThread
	for _, tid := range tids {
		threads = append(threads, newReceiveThread(tid))
	}
	var ending atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watchReceivers(threads, &ending)
	}()
	return func() {
		ending.Store(true)
		<-ended
	}
}

// watchReceivers runs before the threads that it watches, or it would starve, too.
// Its goroutine ends without unlocking, so that the OS thread ends with its priority.
func watchReceivers(threads []*receiveThread, ending *atomic.Bool) {
	runtime.LockOSThread()
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: reliefPriority}
	if unix.SchedSetAttr(0, &attr, 0) != nil {
		return // who may not do this may not have real-time receive threads either
	}
	every := unix.NsecToTimespec(reliefEvery.Nanoseconds())
	for _, t := range threads {
		t.used, t.read = t.clock(), time.Now()
	}
	for !ending.Load() {
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &every, nil)
		for _, t := range threads {
			t.judge(time.Now())
		}
	}
	for _, t := range threads {
		if t.ordinary {
			_ = t.prefer() // one that is gone needs none
		}
	}
}

// receiveThread is a NAPI thread and what it has used.
type receiveThread struct {
	clock          func() time.Duration // its CPU time
	prefer, demote func() error
	used           time.Duration
	read           time.Time
	ordinary       bool
}

func newReceiveThread(tid int) *receiveThread {
	return &receiveThread{
		clock:  func() time.Duration { return kernelThreadCPU(tid) },
		prefer: func() error { return preferThread(tid) },
		demote: func() error { return ordinaryThread(tid) },
	}
}

// kernelThreadCPU is a kernel thread's CPU clock, 0 when it has ended. A kernel thread is a process of its own, whose
// clock's id is made from the process's (include/linux/posix-timers_types.h:
// CPUCLOCK_SCHED); that of a thread may only be read within its process.
func kernelThreadCPU(tid int) time.Duration {
	const sched = 2
	var now unix.Timespec
	if unix.ClockGettime(int32(^tid<<3|sched), &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

func (t *receiveThread) judge(now time.Time) {
	used := t.clock()
	share := float64(used-t.used) / float64(now.Sub(t.read))
	t.used, t.read = used, now
	switch {
	case !t.ordinary && share >= overloaded:
		t.ordinary = t.demote() == nil
	case t.ordinary && share < recovered:
		t.ordinary = t.prefer() != nil
	}
}

func ordinaryThread(tid int) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(ordinarySlice)}
	return unix.SchedSetAttr(tid, &attr, 0)
}
