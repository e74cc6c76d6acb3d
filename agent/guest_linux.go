package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/measure"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/testbed/vm"
)

const (
	// portWithin is how long the port of a guest's worker may take to be there, once its module is.
	portWithin = 10 * time.Second
	// handOverWithin is how long a worker may take to read a request.
	handOverWithin = 3 * time.Second
	// portPause is how often the port is looked at where nobody is.
	portPause = 100 * time.Millisecond
)

// The folders at which stacks of a guest's have their mounts: of the machine itself, and of the container in it.
const (
	machineMounts   = "/run/windtunnel"
	containerMounts = "/run/windtunnel-container"
	// workerMounts is where a worker in the container has that stack's again: it starts in the mount namespace in which they lie at
	// containerMounts, and the kernel refuses one sysfs twice at one place (EBUSY; fs/namespace.c, do_add_mount).
	workerMounts = "/run/windtunnel-container-worker"
)

// ServeGuest is the first process of a virtual machine: it does what a system does at its start, and then has
// workers at the machine's port, one after the other, in a container if there is to be one. It does not return while the
// machine is to live.
func ServeGuest(ctx context.Context, container bool) error {
	if os.Getpid() != 1 {
		return errors.New("this is no virtual machine's first process: a node agent starts such machines by itself")
	}
	if err := errors.Join(mountGuest(), loadModules(vm.Modules)); err != nil {
		return err
	}
	path, err := findPort(ctx)
	if err != nil {
		return err
	}
	d := desk{}
	if container {
		if err := loadModules(vm.ContainerModules); err != nil {
			return err
		}
		if d.inside, err = netns.NewStack("the container", containerMounts); err != nil {
			return err
		}
	}
	if d.port, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("opening the worker's port: %w", err)
	}
	fmt.Println(vm.Ready)
	for {
		if err := d.serve(); err != nil {
			fmt.Fprintln(os.Stderr, err) // on the console
		}
		time.Sleep(portPause) // nobody is there
	}
}

func mountGuest() error {
	for _, m := range []struct{ kind, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/run"}, {"tmpfs", "/tmp"},
	} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mounting %s on %s: %w", m.kind, m.at, err)
		}
	}
	return nil
}

// loadModules loads what a folder of the guest's files has, in order.
func loadModules(folder string) error {
	files, err := filepath.Glob(folder + "/*.ko")
	if err != nil {
		return fmt.Errorf("listing the modules: %w", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("opening a module: %w", err)
		}
		err = unix.FinitModule(int(file.Fd()), "", 0)
		file.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("loading the module %s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// findPort waits for the virtio-serial port of the worker's name (Documentation/ABI: class/virtio-ports).
func findPort(ctx context.Context) (string, error) {
	late := time.Now().Add(portWithin)
	for {
		names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
		if err != nil {
			return "", fmt.Errorf("looking for the worker's port: %w", err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err == nil && strings.TrimSpace(string(text)) == vm.PortName {
				return "/dev/" + filepath.Base(filepath.Dir(name)), nil
			}
		}
		if time.Now().After(late) || ctx.Err() != nil {
			return "", fmt.Errorf("this machine has no virtio-serial port named %s", vm.PortName)
		}
		time.Sleep(portPause)
	}
}

// desk is a guest's port and the worker that is there.
type desk struct {
	port   *os.File
	inside *netns.Stack // where workers are to be; nil: in the machine's own
	worker *exec.Cmd
	to     *os.File // its standard input
}

// serve passes requests on to the worker, which answers at the port by itself, and starts another one where
// somebody who has connected anew asks for it (vm.Again). It returns when nobody is at the other end.
func (d *desk) serve() error {
	in := newLines(d.port, io.Discard)
	for {
		line, err := in.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading what the worker is asked: %w", err)
		}
		if number, again := strings.CutPrefix(string(line), vm.Again); again {
			if err := d.startAnew(number); err != nil {
				return err
			}
			continue
		}
		if d.worker == nil {
			continue // it was meant for one that has gone
		}
		if err := d.to.SetWriteDeadline(time.Now().Add(handOverWithin)); err != nil {
			return fmt.Errorf("passing a request on: %w", err)
		}
		if _, err := d.to.Write(append(line, '\n')); err != nil {
			fmt.Fprintln(os.Stderr, "the worker takes no request:", err) // whoever asks will ask for another worker
		}
	}
}

func (d *desk) startAnew(number string) error {
	d.end()
	if _, err := fmt.Fprintf(d.port, "\n%s%s\n", vm.Anew, number); err != nil {
		return fmt.Errorf("answering at the port: %w", err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the worker: %w", err)
	}
	worker := exec.Command("/proc/self/exe", "agent", "--worker", "--guest")
	start := worker.Start
	if d.inside != nil {
		worker.Args = append(worker.Args, "--container")
		start = func() error { return d.inside.Start(worker) }
	}
	worker.Stdin, worker.Stdout, worker.Stderr = from, d.port, os.Stderr
	err = start()
	from.Close()
	if err != nil {
		to.Close()
		return fmt.Errorf("starting the worker: %w", err)
	}
	d.worker, d.to = worker, to
	return nil
}

// end kills the worker, which may hang.
func (d *desk) end() {
	if d.worker == nil {
		return
	}
	_ = d.worker.Process.Kill() // it may have ended
	_ = d.worker.Wait()         // how, nobody asks
	d.to.Close()
	d.worker = nil
}

// ServeGuestWorker is the worker of a virtual machine, which also settles and measures the machine. Container says that it is
// in a container there.
func ServeGuestWorker(ctx context.Context, in io.Reader, out io.Writer, release string, container bool) error {
	stack, err := netns.JoinStack("this machine", machineMounts, "/proc/1/ns/net")
	if err != nil {
		return err
	}
	g := &guest{stack: stack, own: stack}
	if container {
		if g.own, err = netns.JoinStack("the container", workerMounts, "/proc/self/ns/net"); err != nil {
			return errors.Join(err, stack.Close())
		}
	}
	err = serveWorker(ctx, &worker{stream: newLines(in, out), machine: g}, release)
	if container {
		err = errors.Join(err, g.own.Close())
	}
	return errors.Join(err, stack.Close())
}

// inContainer tells a container's stack from its machine's, whose place the worker's is.
const inContainer = "container"

// guest is the machine that a worker is in.
type guest struct {
	stack      *netns.Stack // of the machine
	own        *netns.Stack // of the worker: the machine's, or a container's
	interfaces []testbed.Interface
}

func (g *guest) settle(ctx context.Context, interfaces []testbed.Interface, container *testbed.GuestContainer) error {
	if err := g.begin(interfaces, container); err != nil {
		return err
	}
	if err := netns.Settle(g.stack, interfaces); err != nil || container == nil {
		return err
	}
	outside, err := firstAddress(interfaces)
	if err != nil {
		return err
	}
	return netns.Contain(ctx, g.stack, g.own, *container, outside, interfaces[0].MTU)
}

func (g *guest) verify(ctx context.Context, interfaces []testbed.Interface, container *testbed.GuestContainer) error {
	if err := g.begin(interfaces, container); err != nil { // a worker that came later was not asked to settle
		return err
	}
	if err := netns.Unsettled(ctx, g.stack, interfaces); err != nil || container == nil {
		return err
	}
	return netns.Uncontained(ctx, g.stack, g.own, *container, interfaces[0].MTU)
}

func (g *guest) begin(interfaces []testbed.Interface, container *testbed.GuestContainer) error {
	if g.interfaces = interfaces; (container != nil) != (g.own != g.stack) || container != nil && len(interfaces) == 0 {
		return errors.New("the machine was started with a container in it and is asked to have none, or the other way round")
	}
	return nil
}

// firstAddress is that of the first interface, by which a machine is reached.
func firstAddress(interfaces []testbed.Interface) (netip.Addr, error) {
	for _, text := range interfaces[0].Addresses {
		prefix, err := netip.ParsePrefix(text)
		return prefix.Addr(), err
	}
	return netip.Addr{}, fmt.Errorf("%s has no address whose ports could be published", interfaces[0].Device)
}

// sample has one stack for all interfaces, the worker's, which is the first one's place. Where that is a container's, the
// machine's own interfaces are on the way to it.
func (g *guest) sample(ctx context.Context, opens, closes time.Time) (result.NodeSample, error) {
	var config measure.Config
	for cpu := range runtime.NumCPU() {
		config.CPUs = append(config.CPUs, cpu)
	}
	places := map[string]string{}
	role, machine := result.RoleEndpoint, ""
	for n, i := range g.interfaces {
		if n == 0 {
			machine = i.Place
			config.Stacks = []measure.Stack{{Place: machine, Sysfs: g.stack.Sysfs(), Do: g.stack.Do}}
			if g.own != g.stack {
				role = result.RoleInner
				config.Stacks = append(config.Stacks, measure.Stack{Place: inContainer, Sysfs: g.own.Sysfs(), Do: g.own.Do})
				config.Links = append(config.Links, measure.Link{Place: inContainer, Device: testbed.GuestInside, Role: result.RoleEndpoint})
				places[testbed.GuestInside] = machine
			}
		}
		config.Links = append(config.Links, measure.Link{Place: machine, Device: i.Device, Role: role})
		places[i.Device] = i.Place
	}
	opened, err := measure.NewNode(config)
	if err != nil {
		return result.NodeSample{}, err
	}
	p := &probes{node: opened}
	sample, err := p.sample(ctx, opens, closes, 0)
	for i := range sample.Links {
		sample.Links[i].Place = places[sample.Links[i].Device]
	}
	if g.own != g.stack { // the place is where the worker is
		sample.Stacks = slices.DeleteFunc(sample.Stacks, func(s result.StackSample) bool { return s.Place == machine })
		for i := range sample.Stacks {
			sample.Stacks[i].Place = machine
		}
	}
	return sample, errors.Join(err, p.close())
}
