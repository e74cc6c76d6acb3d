package frame

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"windtunnel/ktime"
	"windtunnel/traffic"
)

// What BPF_PROG_TEST_RUN is given; Documentation/bpf/bpf_prog_run.rst.
const (
	progTestRun   = 10      // BPF_PROG_TEST_RUN
	liveFrames    = 1 << 1  // BPF_F_TEST_XDP_LIVE_FRAMES, Linux 5.18
	foreverRepeat = 1 << 31 // minutes at any rate; a signal ends it before
)

// How many frames the kernel sends in turn, powers of two. As many pages wait for their next frame, and what comes
// back beyond is freed, so a sender as fast as it goes takes the kernel's most (TEST_XDP_MAX_BATCH); at a rate the
// kernel's own number, since a frame that is due may wait for its batch's end.
const (
	fastBatch  = 256
	pacedBatch = 64
)

// testRun is the part of union bpf_attr for BPF_PROG_TEST_RUN (linux/bpf.h).
type testRun struct {
	program, result              uint32
	dataSizeIn, dataSizeOut      uint32
	dataIn, dataOut              unsafe.Pointer
	repeat, duration             uint32
	contextSizeIn, contextOutEnd uint32
	contextIn, contextOut        unsafe.Pointer
	flags, cpu, batch, _         uint32
}

// live sends XDP live frames from one thread. One call of the kernel sends
// them for the whole trial: a call costs 25 ms, because the kernel changes its XDP
// dispatcher before and after and waits for a grace period each time
// (bpf_prog_change_xdp in net/bpf/test_run.c).
type live struct {
	objects  sendObjects
	kernel   ktime.Clock
	memory   []byte
	record   *sendFrameSender // in memory, shared with the programs
	template []byte
	refusals []link.Link // none: what the device refuses cannot be seen
	thread   traffic.ThreadClock
	stopped  atomic.Bool
	called   atomic.Uint64
}

// newLive loads the programs for one thread, which holds back until let go.
func newLive(h header, out int, first, end uint32) (*live, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lifting the memory lock limit: %w", err)
	}
	l := &live{kernel: ktime.Open()}
	if err := l.load(out != 0); err != nil {
		l.close()
		return nil, err
	}
	l.describe(h, out, first, end)
	if out == 0 {
		return l, nil
	}
	if err := l.objects.FrameOut.Put(uint32(0), uint32(out)); err != nil {
		l.close()
		return nil, fmt.Errorf("naming the device that live frames leave by: %w", err)
	}
	return l, nil
}

// describe tells the program about its frames. Out 0 is the null sink.
func (l *live) describe(h header, out int, first, end uint32) {
	var s stamp
	s, l.template = newStamp(h)
	*l.record = sendFrameSender{
		Ipv6: flag(h.ipv6()), Addresses: flag(h.addresses), Turns: uint32(len(s.shapes)),
		Port: uint32(h.port), Device: uint32(out), Drop: flag(out == 0), Stamped: flag(h.stamped), Apart: uint64(h.apart), Hold: 1,
		Batch: fastBatch, First: first, End: end, Flow: first,
	}
	for i, of := range s.shapes {
		to := &l.record.Shapes[i]
		to.Length, to.UdpSum, to.IpSum = uint32(len(of.template)), of.udp, of.ip
		copy(to.Head[:], of.template)
		if h.outer != nil { // which ends where an Ethernet header would
			copy(to.Head[:ethernetSize], h.outer.prefix[h.outer.shift():])
		}
	}
	if o := h.outer; o != nil {
		r, to := o.record(), &l.record.Outer
		to.Bytes, to.Mask, to.Length, to.Ipv6, to.Udp, to.IpSum = r.Bytes, r.Mask, r.Length, r.IPv6, r.UDP, r.IPSum
	}
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// load also watches what the device refuses, if there is one and the kernel has the
// types for it (BTF); without, refused frames count as lost.
func (l *live) load(watch bool) error {
	spec, err := loadSend()
	if err != nil {
		return fmt.Errorf("reading the BPF programs: %w", err)
	}
	if watch && spec.LoadAndAssign(&l.objects, nil) == nil {
		l.watch()
	} else if err := l.loadPlain(spec); err != nil {
		return fmt.Errorf("loading the BPF program that writes frames: %w", err)
	}
	l.memory, err = unix.Mmap(l.objects.FrameSenders.FD(), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping the sender's record: %w", err)
	}
	l.record = (*sendFrameSender)(unsafe.Pointer(unsafe.SliceData(l.memory)))
	return nil
}

// watch sees all that the device refuses, or nothing.
func (l *live) watch() {
	for _, p := range []*ebpf.Program{l.objects.FrameRefused, l.objects.FrameUnsent} {
		seen, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			_ = l.unwatch()
			return
		}
		l.refusals = append(l.refusals, seen)
	}
}

func (l *live) unwatch() error {
	var failed []error
	for _, seen := range l.refusals {
		failed = append(failed, seen.Close())
	}
	l.refusals = nil
	return errors.Join(failed...)
}

// loadPlain leaves the watching programs out.
func (l *live) loadPlain(spec *ebpf.CollectionSpec) error {
	delete(spec.Programs, "frame_refused")
	delete(spec.Programs, "frame_unsent")
	var objects struct {
		FrameSend    *ebpf.Program `ebpf:"frame_send"`
		FrameOut     *ebpf.Map     `ebpf:"frame_out"`
		FrameSenders *ebpf.Map     `ebpf:"frame_senders"`
	}
	if err := spec.LoadAndAssign(&objects, nil); err != nil {
		return err
	}
	l.objects.FrameSend = objects.FrameSend
	l.objects.FrameOut, l.objects.FrameSenders = objects.FrameOut, objects.FrameSenders
	return nil
}

// call sends repeat frames, or ends earlier by a signal.
func (l *live) call(repeat uint32) error {
	run := testRun{
		program: uint32(l.objects.FrameSend.FD()), repeat: repeat, flags: liveFrames, batch: l.record.Batch,
		dataIn: unsafe.Pointer(unsafe.SliceData(l.template)), dataSizeIn: uint32(len(l.template)),
	}
	l.record.Task, l.record.Runs = 0, 0
	// Not a raw call: so the scheduler knows that this thread is in the kernel,
	// and sends it no signals, each of which would end the call.
	_, _, errno := syscall.Syscall(unix.SYS_BPF, progTestRun, uintptr(unsafe.Pointer(&run)), unsafe.Sizeof(run))
	runtime.KeepAlive(l)
	l.called.Add(1)
	switch {
	case errno == 0 || errno == unix.EINTR || errno == unix.EAGAIN:
		return nil
	case errno == unix.EINVAL:
		return fmt.Errorf("this kernel takes no live frames of %d bytes (Linux 5.18 and frames within a page are needed): %w", len(l.template)+fcsSize, errno)
	}
	return fmt.Errorf("sending live frames: %w", errno)
}

// work is the hot thread's: it sends until stop.
func (l *live) work() error {
	l.thread.Begin()
	defer l.thread.End()
	defer leashThread()()
	for !l.stopped.Load() {
		if err := l.call(foreverRepeat); err != nil {
			return err
		}
		if !l.stopped.Load() { // by the leash: whoever had no CPU gets this one's, or the next call would go on as long
			time.Sleep(leashed)
		}
	}
	return nil
}

// interrupt ends a call that is under way. The signal is the one by which the Go
// scheduler interrupts its threads, so its handler is there and does nothing else.
func (l *live) interrupt() {
	l.stopped.Store(true)
	atomic.StoreUint32(&l.record.Hold, 1)
	if tid := l.thread.Thread(); tid != 0 {
		_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGURG) // it may have ended already
	}
}

// rate is set before the first frame.
func (l *live) rate(perSecond float64, burst int) {
	if perSecond > 0 {
		interval := 1e12 / perSecond
		l.record.Interval, l.record.Depth = uint64(interval), uint64(interval*float64(burst-1))
		l.record.Batch = pacedBatch
	}
}

func (l *live) delay(by time.Duration) { l.record.Due = 1000 * uint64(by) }

func (l *live) release() {
	l.record.Failed = 0 // by a probe
	atomic.StoreUint64(&l.record.Epoch, uint64(l.kernel.Now()))
	atomic.StoreUint32(&l.record.Hold, 0)
}

func (l *live) setPhase(p uint32) { atomic.StoreUint32(&l.record.Phase, p) }

func (l *live) counts(phase int) (sent, refused uint64) {
	refused = atomic.LoadUint64(&l.record.Refused[phase])
	return atomic.LoadUint64(&l.record.Sent[phase]) - refused, refused
}

// skipped: a frame has its number before the device refuses it.
func (l *live) skipped() (numbers uint64) {
	for _, phase := range []int{warmUp, window, after} {
		_, refused := l.counts(phase)
		numbers += refused
	}
	return numbers
}

// missed is how much of the rate was given up because the thread came too late to its call: it was suspended, or a signal ended the one before.
func (l *live) missed() time.Duration {
	return time.Duration(atomic.LoadUint64(&l.record.Missed) / 1000)
}

// away is for how long no frame had a way out, from the first that found none to the last.
func (l *live) away() time.Duration { return time.Duration(atomic.LoadUint64(&l.record.Down)) }

// lacked is what the last of those lacked: the device was down, or its other end took none.
func (l *live) lacked() syscall.Errno { return syscall.Errno(-l.record.Lack) }

// failed is when a frame last found no way out, by the kernel's clock, 0 where none did.
func (l *live) failed() time.Duration { return time.Duration(atomic.LoadUint64(&l.record.Failed)) }

func (l *live) calls() uint64 { return l.called.Load() }

func (l *live) clock() *traffic.ThreadClock { return &l.thread }

// probe sends some frames that are only counted. The numbering begins anew.
func (l *live) probe(frames int) error {
	l.record.Error = 0
	l.setPhase(probing)
	l.release()
	err := l.call(uint32(frames))
	l.record.Hold = 1
	l.setPhase(warmUp)
	l.record.Flow, l.record.Sequence, l.record.Due = l.record.First, 0, 0
	return err
}

// refusal is why the device took no frames, nil if it is not known to have refused any.
func (l *live) refusal() error {
	if l.record.Error < 0 {
		return syscall.Errno(-l.record.Error)
	}
	return nil
}

// refusesAll says of a device that the next frames will fare no better.
func (l *live) refusesAll() bool { return closedTo(l.refusal()) }

// closedTo tells of an error that a device takes no live frames: a veth whose other end has no NAPI (ENXIO, veth_xdp_xmit in
// drivers/net/veth.c), or a driver without ndo_xdp_xmit, and since Linux 6.3 such a veth (EOPNOTSUPP, xdp_ok_fwd_dev in
// include/linux/filter.h). A ring that is full is no error, or another.
func closedTo(refusal error) bool {
	return errors.Is(refusal, unix.ENXIO) || errors.Is(refusal, unix.EOPNOTSUPP)
}

func (l *live) close() error {
	failed := []error{l.unwatch()}
	if l.memory != nil {
		failed = append(failed, unix.Munmap(l.memory))
		l.memory, l.record = nil, nil
	}
	if l.objects.FrameSend != nil {
		failed = append(failed, l.objects.FrameSend.Close(), l.objects.FrameOut.Close(), l.objects.FrameSenders.Close())
	}
	if l.objects.FrameRefused != nil {
		failed = append(failed, l.objects.FrameRefused.Close())
	}
	return errors.Join(failed...)
}
