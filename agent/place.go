//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"windtunnel/agent/proto"
	"windtunnel/testbed"
	"windtunnel/testbed/look"
	"windtunnel/testbed/netns"
	"windtunnel/traffic"
)

// PlaceConfig is what the agent of a place that runs already is started with.
type PlaceConfig struct {
	Name    string
	Release string
	Remove  string // the folder in which this program was brought; empty: it was there
	Sum     string // the SHA-256 that it must have, in hexadecimal; empty: it is not asked
}

// ServePlace is the agent of a place that runs already. It builds and changes nothing there, runs workers and
// reads counters. What was brought for it is removed at once, so that no end of it, however it comes, leaves anything.
func ServePlace(ctx context.Context, in io.Reader, out io.Writer, config PlaceConfig) error {
	damaged := checkSelf(config.Sum)
	if err := errors.Join(removeBrought(config.Remove), damaged); err != nil {
		return err
	}
	place, err := lookAround()
	if err != nil {
		return err
	}
	return ServeNode(ctx, in, out, NodeConfig{
		Name: config.Name, CPUs: place.CPUs, Release: config.Release, Place: &place, Backend: newExisting(config.Name),
		Worker: []string{"/proc/self/exe", "agent", "--worker"},
	})
}

// survey tells what the stack that this agent is in has. A simulated node's own is none that anybody would ask for.
func survey(place bool) proto.Reply {
	if !place {
		return refuse("survey is answered in a place that runs already")
	}
	seen, err := look.Around()
	if err != nil {
		return refuse("%v", err)
	}
	return proto.Reply{Seen: &seen}
}

// lookAround reads what the place is.
func lookAround() (proto.Place, error) {
	var p proto.Place
	p.Machine = bootIdentity()
	p.Stack, _ = os.Readlink("/proc/self/ns/net")
	p.CPUs = machineCPUs()
	if len(p.CPUs) == 0 {
		return p, errors.New("this place shows no CPU: neither /sys/devices/system/cpu/online nor /proc/stat can be read")
	}
	leaves := defaultDevices()
	var err error
	p.Addresses, err = addressesHere(func(link net.Interface) string { return link.Name }, func(link net.Interface) bool { return leaves[link.Name] })
	return p, err
}

// bootIdentity names this machine, as it runs now; "" if it is not told.
func bootIdentity() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot))
}

// machineCPUs are those that run: work for the network is done on any of them, whichever the place may use.
func machineCPUs() []int {
	text, _ := os.ReadFile("/sys/devices/system/cpu/online")
	if cpus := cpuList(strings.TrimSpace(string(text))); len(cpus) > 0 {
		return cpus
	}
	var cpus []int
	text, _ = os.ReadFile("/proc/stat")
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "cpu")); err == nil {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// cpuList reads a list as the kernel writes it, "0-3,8", nil if it is none.
func cpuList(text string) []int {
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseUint(first, 10, 13)
		to := from
		if err == nil && isRange {
			to, err = strconv.ParseUint(last, 10, 13)
		}
		if err != nil || to < from {
			return nil
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus
}

// defaultDevices are the interfaces by which packets for anywhere leave: the routes of /proc/net/route whose
// destination and mask are 0 (fib_route_seq_show in net/ipv4/fib_trie.c), and of ipv6_route whose prefix has no bits.
func defaultDevices() map[string]bool {
	devices := map[string]bool{}
	text, _ := os.ReadFile("/proc/self/net/route")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 8 && f[1] == "00000000" && f[7] == "00000000" {
			devices[f[0]] = true
		}
	}
	text, _ = os.ReadFile("/proc/self/net/ipv6_route")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 10 && f[1] == "00" && strings.Trim(f[0], "0") == "" && f[9] != "lo" {
			devices[f[9]] = true
		}
	}
	return devices
}

// existing is the backend of a place that runs already.
type existing struct {
	name   string
	starts chan func()
}

var _ Backend = (*existing)(nil)

// newExisting keeps one thread for starting workers: the kernel kills a worker when the thread that forked it ends
// (PR_SET_PDEATHSIG), and Go ends threads as it likes.
func newExisting(name string) *existing {
	e := &existing{name: name, starts: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for start := range e.starts {
			start()
		}
	}()
	return e
}

// Place refuses to build anything.
func (e *existing) Place(_ context.Context, g testbed.Graph) (map[string]string, error) {
	return nil, e.checkGraph(g)
}

// Apply has nothing to make.
func (e *existing) Apply(_ context.Context, g testbed.Graph, _ map[string]string) error {
	return e.checkGraph(g)
}

// Verify looks whether the interfaces that carry the traffic are there.
func (e *existing) Verify(_ context.Context, g testbed.Graph) error {
	node, _ := g.Node(e.name)
	for _, device := range node.Devices {
		if _, err := net.InterfaceByName(device); err != nil {
			return fmt.Errorf("the interface %s of %s is gone: %w", device, e.name, err)
		}
	}
	return e.checkGraph(g)
}

func (e *existing) checkGraph(g testbed.Graph) error {
	part := g.Part(e.name)
	node, _ := g.Node(e.name)
	if len(node.Exec) == 0 && len(g.Nodes) > 0 || part.Builds() || len(part.Links) > 0 {
		return fmt.Errorf("%s runs already, and nothing is built in it: take the path existing", e.name)
	}
	return nil
}

// Restore has nothing to take away.
func (*existing) Restore(context.Context, string) error { return nil }

// Start starts a worker.
func (e *existing) Start(_, _ string, cmd *exec.Cmd) error {
	failed := make(chan error, 1)
	e.starts <- func() { failed <- cmd.Start() }
	return <-failed
}

// Do needs no other thread: the agent is in the place.
func (*existing) Do(_, _ string, f func() error) error { return f() }

// Sysfs is the place's own, if it is of the same network stack: nsenter --net alone leaves the one from outside.
func (*existing) Sysfs(_, _ string) string {
	const sysfs = "/sys"
	links, err := net.Interfaces()
	if err != nil {
		return ""
	}
	seen, err := os.ReadDir(sysfs + "/class/net")
	if err != nil || len(seen) < len(links) {
		return ""
	}
	for _, link := range links {
		text, err := os.ReadFile(filepath.Join(sysfs, "class/net", link.Name, "ifindex"))
		if err != nil || strings.TrimSpace(string(text)) != strconv.Itoa(link.Index) {
			return ""
		}
	}
	return sysfs
}

// Pull would change what runs.
func (e *existing) Pull(_, _, _ string, _ bool) error {
	return fmt.Errorf("%s runs already: no cable is pulled there", e.name)
}

// Receivers, LetPoll, Port, Inside, Found, Switches and Machines: none of what they are about is made here.
func (*existing) Receivers(string) []int                        { return nil }
func (*existing) Rules(string) []netns.Rule                     { return nil }
func (*existing) LetPoll(string) error                          { return nil }
func (*existing) Port(_, _ string) *traffic.Port                { return nil }
func (*existing) Inside(_, _ string) Inside                     { return nil }
func (*existing) Found(context.Context, string) (string, error) { return "", nil }
func (*existing) Switches(string) []Switch                      { return nil }
func (*existing) Machines(string) []Machine                     { return nil }

// Close ends the thread.
func (e *existing) Close() error {
	if e.starts != nil {
		close(e.starts)
		e.starts = nil
	}
	return nil
}
