package agent

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
	"windtunnel/traffic/generator"
	"windtunnel/traffic/kinds"
)

// prepareTimeout bounds how long one end may take to listen or to connect; a program of others gets what it needs beside
// (Begins).
const prepareTimeout = 5 * time.Second

// ServeWorker is an endpoint worker: it runs one end of pairs, as it is told on
// in, until in ends. The result of a trial waits in it until it is asked for.
func ServeWorker(ctx context.Context, in io.Reader, out io.Writer, release string, cpus []int) error {
	if err := stayOn(cpus); err != nil {
		return err
	}
	return serveWorker(ctx, &worker{stream: newLines(in, out)}, release)
}

func serveWorker(ctx context.Context, w *worker, release string) error {
	defer w.drop()
	hello := proto.Hello{
		Windtunnel: proto.Version, Role: "worker", Release: release, PID: os.Getpid(),
		Capabilities: []string{proto.DoPrepare, proto.DoStart, proto.DoResult, proto.DoProbe, proto.DoCalibrate, proto.DoStop},
	}
	if w.machine != nil {
		hello.Capabilities = append(hello.Capabilities, proto.DoSettle, proto.DoVerify)
	}
	return serve(ctx, w.stream, hello, w.handle)
}

// worker holds what one endpoint has prepared.
type worker struct {
	stream  *lines
	machine machine // that it is in, nil if that is measured from outside

	mu       sync.Mutex
	prepared []preparedEnd
	kept     map[endOf]traffic.Renewed // of trials before, for the next
	trial    *workerTrial
	probe    interface{ close() } // the receiving end of a probe
}

type preparedEnd struct {
	endOf
	worker traffic.Worker
	keep   bool
}

// endOf names an end of a cell's.
type endOf struct {
	pair   int
	beside bool
	place  string
	role   traffic.Role
}

// machine is a virtual machine as its worker has it.
type machine interface {
	// settle brings the machine's interfaces to what they are to be; verify tells every difference.
	settle(ctx context.Context, interfaces []testbed.Interface, container *testbed.GuestContainer) error
	verify(ctx context.Context, interfaces []testbed.Interface, container *testbed.GuestContainer) error
	// sample is what the machine saw between two times.
	sample(ctx context.Context, opens, closes time.Time) (result.NodeSample, error)
}

// workerTrial is a running or finished trial.
type workerTrial struct {
	cancel context.CancelFunc
	done   chan struct{}
	ends   []proto.WorkerEnd
	kept   []traffic.Renewed  // beside them; nil: it was closed
	sample *result.NodeSample // of the machine
}

func (w *worker) handle(ctx context.Context, ask proto.Request) proto.Reply {
	switch ask.Do {
	case proto.DoPrepare:
		return w.prepare(ctx, ask)
	case proto.DoStart:
		return w.start(ctx, ask)
	case proto.DoResult:
		return w.result(ctx)
	case proto.DoProbe:
		return w.runProbe(ctx, ask)
	case proto.DoCalibrate:
		return calibrate(ctx, ask)
	case proto.DoStop:
		w.drop()
		return proto.Reply{}
	case proto.DoSettle, proto.DoVerify:
		return w.interfaces(ctx, ask)
	}
	return refuse("a worker does not know %q; it takes prepare, start, result, probe, calibrate and stop", ask.Do)
}

func (w *worker) prepare(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Order == nil {
		return refuse("prepare needs an order")
	}
	kind, ok := kinds.ByName(ask.Order.Kind)
	if !ok {
		return refuse("this worker has no traffic of kind %q", ask.Order.Kind)
	}
	if _, able := kind.(traffic.AtPorts); ask.Order.Port != nil && !able {
		return refuse("traffic of kind %q needs an interface and a stack, and %s has a port", ask.Order.Kind, ask.Place)
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin(ask.Order.Kind, ask.Order.Load))
	defer cancel()
	of := endOf{ask.Pair, ask.Beside, ask.Place, ask.Order.Role}
	end := w.renewed(ctx, of, *ask.Order)
	if end == nil {
		var err error
		if end, err = prepareEnd(ctx, kind, *ask.Order); err != nil {
			return refuse("preparing to %s: %v", ask.Order.Role, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepared = append(w.prepared, preparedEnd{of, end, ask.Order.Keep})
	return proto.Reply{Address: end.Address()}
}

// prepareEnd readies our own engine, or the program of others that the load names.
func prepareEnd(ctx context.Context, kind traffic.Kind, order traffic.Order) (traffic.Worker, error) {
	if generator.Drives(order.Load) {
		return generator.Prepare(ctx, order)
	}
	if _, knows := kind.(traffic.Foreign); !knows { // one that knows its generators has the choice among its options
		order.Load = generator.Own(order.Load)
	}
	return kind.Prepare(ctx, order)
}

// calibrate tells how fast the order's generator is by itself.
func calibrate(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Order == nil {
		return refuse("calibrate needs an order")
	}
	kind, _ := kinds.ByName(ask.Order.Kind)
	known, ok := kind.(traffic.Calibrator)
	if generator.Drives(ask.Order.Load) {
		return proto.Reply{} // nobody can tell but by running it
	}
	if !ok || ask.Order.Port != nil && ask.Order.Port.Device == "" { // a tester tells how busy it is: nobody has to guess
		return proto.Reply{}
	}
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	perSecond, err := known.Calibrate(ctx, generator.Own(ask.Order.Load), ask.Order.CPUs)
	if err != nil {
		return refuse("calibrating %s: %v", ask.Order.Kind, err)
	}
	return proto.Reply{PerSecond: perSecond}
}

// interfaces settles those of the machine that the worker is in, or verifies them.
func (w *worker) interfaces(ctx context.Context, ask proto.Request) proto.Reply {
	if w.machine == nil {
		return refuse("a worker that is in no virtual machine does not know %q", ask.Do)
	}
	do := w.machine.settle
	if ask.Do == proto.DoVerify {
		do = w.machine.verify
	}
	if err := do(ctx, ask.Interfaces, ask.Container); err != nil {
		return refuse("%v", err)
	}
	return proto.Reply{}
}

// start lets every prepared end run.
func (w *worker) start(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Start == nil {
		return refuse("start needs its times")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trial != nil || len(w.prepared) == 0 {
		return refuse("nothing is prepared, or a trial runs already")
	}
	when := schedule(*ask.Start)
	ctx, cancel := context.WithCancel(ctx)
	trial := &workerTrial{cancel: cancel, done: make(chan struct{}), ends: make([]proto.WorkerEnd, len(w.prepared)), kept: make([]traffic.Renewed, len(w.prepared))}
	w.trial = trial
	go trial.run(ctx, w.prepared, when, w.machine)
	w.prepared = nil
	return proto.Reply{}
}

func schedule(s proto.Start) traffic.Schedule {
	return traffic.Schedule{
		Start:    time.Now().Add(seconds(s.InSeconds)),
		WarmUp:   seconds(s.WarmUpSeconds),
		Window:   seconds(s.WindowSeconds),
		Interval: seconds(s.IntervalSeconds),
		Alone:    s.Alone,
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (t *workerTrial) run(ctx context.Context, prepared []preparedEnd, when traffic.Schedule, in machine) {
	defer close(t.done)
	var ends sync.WaitGroup
	if in != nil {
		ends.Go(func() {
			opens := when.Start.Add(when.WarmUp)
			sample, err := in.sample(ctx, opens, opens.Add(when.Window))
			if err != nil {
				sample = result.NodeSample{Missing: map[string]string{"machine": err.Error()}}
			}
			t.sample = &sample
		})
	}
	for i, p := range prepared {
		ends.Go(func() { t.ends[i], t.kept[i] = runEnd(ctx, p, when) })
	}
	ends.Wait()
}

// runEnd also returns the worker, if it is kept and not closed.
func runEnd(ctx context.Context, p preparedEnd, when traffic.Schedule) (proto.WorkerEnd, traffic.Renewed) {
	end, err := p.worker.Run(ctx, when)
	report := proto.WorkerEnd{Pair: p.pair, Beside: p.beside, Role: p.role, Place: p.place, End: end}
	if again, can := p.worker.(traffic.Renewed); can && p.keep && again.Renewable() && err == nil && end.Error == "" {
		return report, again
	}
	if closing := p.worker.Close(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		report.Error = err.Error()
	}
	return report, nil
}

func (w *worker) result(ctx context.Context) proto.Reply {
	w.mu.Lock()
	trial := w.trial
	w.mu.Unlock()
	if trial == nil {
		return refuse("no trial was started")
	}
	select {
	case <-trial.done:
	case <-ctx.Done():
		return refuse("waiting for the trial's end: %v", ctx.Err())
	}
	w.mu.Lock()
	w.trial = nil
	w.keep(trial)
	w.mu.Unlock()
	trial.cancel()
	return proto.Reply{Ends: trial.ends, Machine: trial.sample}
}

// drop ends whatever runs or waits and frees its sockets.
func (w *worker) drop() {
	w.mu.Lock()
	prepared, trial, probe := w.prepared, w.trial, w.probe
	w.prepared, w.trial, w.probe = nil, nil, nil
	w.mu.Unlock()
	w.letGo()
	for _, p := range prepared {
		p.worker.Close()
	}
	if trial != nil {
		trial.cancel()
		<-trial.done
		for _, kept := range trial.kept {
			if kept != nil {
				kept.Close()
			}
		}
	}
	if probe != nil {
		probe.close()
	}
}
