package frame

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

var (
	_ traffic.Renewed = (*receiveWorker)(nil)
	_ traffic.Renewed = (*sendWorker)(nil)
)

var errAnother = errors.New("the order differs in more than its rate")

// renewed is the load of an order, if a worker of the one before will do for it.
func renewed(before, now traffic.Order) (load, error) {
	was, err := parseLoad(before.Load)
	if err != nil {
		return load{}, err
	}
	l, err := parseLoad(now.Load)
	switch {
	case err != nil:
		return load{}, err
	case !reflect.DeepEqual(before.Port, now.Port), before.Role != now.Role || before.Address != now.Address || !slices.Equal(before.CPUs, now.CPUs) || !was.alike(l):
		return load{}, errAnother
	}
	return l, nil
}

// lasts reports whether an end is kept by order: sessions at testers, and programs of others, end with their trials.
func lasts(order traffic.Order) bool {
	return order.Keep && (order.Port == nil || order.Port.Device != "")
}

// Renewable: a sink that counts in Go counts one session.
func (w *receiveWorker) Renewable() bool {
	_, can := w.sink.(renewer)
	return can && lasts(w.order)
}

// Renewable, if it is we who send.
func (w *sendWorker) Renewable() bool { return w.generator == nil && lasts(w.order) }

// Renew has the sink count another session. The programs stay where they are attached.
func (w *receiveWorker) Renew(_ context.Context, order traffic.Order) error {
	w.running.Lock()
	defer w.running.Unlock()
	l, err := renewed(w.order, order)
	if err != nil {
		return err
	}
	counting, can := w.sink.(renewer)
	if !can {
		return errors.New("a sink in Go counts one session")
	}
	session := newSession()
	if err := counting.renew(session); err != nil {
		return err
	}
	w.load, w.order = l, order
	return w.listener.renew(session)
}

// Renew joins another session of the receiver, by the way that the first one's probe has found.
func (w *sendWorker) Renew(ctx context.Context, order traffic.Order) error {
	w.running.Lock()
	defer w.running.Unlock()
	l, err := renewed(w.order, order)
	if err != nil {
		return err
	}
	if err := w.session.again(ctx); err != nil {
		return err
	}
	w.load, w.order = l, order
	w.header.session = w.session.number
	if order.Port != nil {
		w.header.atRate(l, w.session)
	}
	if w.method != byXDP {
		failed := closeSources(w.sources)
		w.sources, err = newSources(w.method, w.header, l, w.device)
		return errors.Join(failed, err)
	}
	for i, s := range w.sources {
		first, end := l.share(i)
		s.(*live).renew(w.header, w.device.index, first, end)
	}
	return nil
}

// renew readies a source whose thread has ended.
func (l *live) renew(h header, out int, first, end uint32) {
	l.describe(h, out, first, end)
	l.called.Store(0)
	l.stopped.Store(false)
}

// renew forgets what was counted, once no frame of the session before can be counted any more.
func (s *bpfSink) renew(session uint32) error {
	if err := s.objects.FrameSession.Set(swapped(session)); err != nil {
		return fmt.Errorf("telling the BPF programs of a session: %w", err)
	}
	if err := quiesce(); err != nil {
		return err
	}
	return errors.Join(zero[sinkFrameTotals](s.objects.FrameSums), zero[uint64](s.objects.FrameFlights), forget(s.objects.FrameFlow))
}

// quiesce waits until no BPF program runs any more that ran when it began. The kernel comes back from an update of a map
// of maps only after a grace period of RCU (maybe_wait_bpf_programs in kernel/bpf/syscall.c; kernel commit 1ae80cf31938),
// and programs at XDP and tc run in read sections of it.
func quiesce() error {
	array := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	inner, err := ebpf.NewMap(array)
	if err != nil {
		return fmt.Errorf("making a map to wait by: %w", err)
	}
	defer inner.Close()
	outer, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: array})
	if err != nil {
		return fmt.Errorf("making a map of maps to wait by: %w", err)
	}
	defer outer.Close()
	if err := outer.Put(uint32(0), inner); err != nil {
		return fmt.Errorf("waiting for frames under way: %w", err)
	}
	return nil
}

// zero clears a map that has a value for each CPU.
func zero[T any](m *ebpf.Map) error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("counting CPUs: %w", err)
	}
	each := make([]T, cpus)
	for key := range m.MaxEntries() {
		if err := m.Put(key, each); err != nil {
			return fmt.Errorf("clearing the sink's counters: %w", err)
		}
	}
	return nil
}

// forget clears the memory of all flows.
func forget(flows *ebpf.Map) error {
	memory, err := flowMemory(flows)
	if err != nil {
		return err
	}
	clear(memory)
	return forgo(memory)
}

// flowMemory maps the memory of all flows, 32 MB at most.
func flowMemory(flows *ebpf.Map) ([]byte, error) {
	memory, err := unix.Mmap(flows.FD(), 0, int(flows.ValueSize()*flows.MaxEntries()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the sink's memory of flows: %w", err)
	}
	return memory, nil
}

// forgo ends what flowMemory began.
func forgo(memory []byte) error {
	if err := unix.Munmap(memory); err != nil {
		return fmt.Errorf("letting the sink's memory of flows go: %w", err)
	}
	return nil
}
