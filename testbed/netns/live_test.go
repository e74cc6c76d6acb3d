package netns

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/testbed"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not measured here: network namespaces need root")
	}
}

// wireGraph is two nodes, a wire as a NIC, and a container on a behind a bridge.
func wireGraph() testbed.Graph {
	nic := map[string]bool{testbed.TSO: false, testbed.GSO: false, testbed.UDPSeg: false, testbed.GRO: true}
	return testbed.Graph{
		Cell:       "A",
		Nodes:      []testbed.Node{{Name: "a", CPUs: []int{0}}, {Name: "b", CPUs: []int{1}}},
		Containers: []testbed.Container{{Name: "sender", Node: "a"}},
		Bridges:    []testbed.Bridge{{Name: "switch", Node: "a", Device: "br0", MTU: 1500}},
		Links: []testbed.Link{
			{Name: "wire", Role: result.RoleWire, Kind: "nic", Ends: [2]testbed.Interface{
				{Place: "a", Device: "nic0", MTU: 1500, MAC: "02:00:00:00:00:0a", Bridge: "switch", Offloads: nic, Steering: testbed.SteerThreaded},
				{Place: "b", Device: "nic0", MTU: 1500, MAC: "02:00:00:00:00:0b", Queues: 1, Offloads: nic, Steering: testbed.SteerFirst,
					Addresses: []string{"10.9.0.2/24"}, Routes: []testbed.Route{{Prefix: "10.8.0.0/16", Gateway: "10.9.0.1"}}},
			}},
			{Name: "endpoint", Role: result.RoleEndpoint, Ends: [2]testbed.Interface{
				{Place: "sender", Device: "eth0", MTU: 1500, Addresses: []string{"10.9.0.1/24"}, Steering: testbed.SteerRPS},
				{Place: "a", Device: "v-sender", MTU: 1500, Bridge: "switch"},
			}},
		},
	}
}

// pair is both nodes' backends in one process.
type pair struct{ a, b *Backend }

func newPair(t *testing.T) pair {
	t.Helper()
	needRoot(t)
	p := pair{New("a", []int{0}, t.TempDir()), New("b", []int{1}, t.TempDir())}
	t.Cleanup(func() {
		if err := errors.Join(p.a.Close(), p.b.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p pair) apply(g testbed.Graph) error {
	ctx, peers := context.Background(), map[string]string{}
	for _, node := range []*Backend{p.a, p.b} {
		stacks, err := node.Place(ctx, g)
		if err != nil {
			return err
		}
		maps.Copy(peers, stacks)
	}
	for _, node := range []*Backend{p.a, p.b} {
		if err := node.Apply(ctx, g, peers); err != nil {
			return err
		}
	}
	return errors.Join(p.a.Verify(ctx, g), p.b.Verify(ctx, g))
}

// applyAtOnce applies a placed graph to both nodes at the same time.
func (p pair) applyAtOnce(g testbed.Graph) error {
	ctx, peers := context.Background(), map[string]string{}
	for _, node := range []*Backend{p.a, p.b} {
		stacks, err := node.Place(ctx, g)
		if err != nil {
			return err
		}
		maps.Copy(peers, stacks)
	}
	other := make(chan error, 1)
	go func() { other <- p.b.Apply(ctx, g, peers) }()
	err := errors.Join(p.a.Apply(ctx, g, peers), <-other)
	return errors.Join(err, p.a.Verify(ctx, g), p.b.Verify(ctx, g))
}

// device reads a device of a stack.
func device(t *testing.T, s *Stack, name string) *netlink.LinkAttrs {
	t.Helper()
	var attrs *netlink.LinkAttrs
	err := s.Do(func() error {
		return withLinks(func(h *handle) error {
			link, err := h.LinkByName(name)
			if err == nil {
				attrs = link.Attrs()
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return attrs
}

// hostState is what a testbed must leave as it was: links of the host that could be its own (others come and go), this
// process's namespaces, and how many files and mounts it has.
type hostState struct {
	things        []string
	files, mounts int
}

func lookAtHost(t *testing.T) (s hostState) {
	t.Helper()
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if name := l.Attrs().Name; name == "nic0" || name == "br0" || name == "v-sender" {
			s.things = append(s.things, name)
		}
	}
	tasks, _ := filepath.Glob("/proc/self/task/*/ns/*")
	for _, task := range tasks {
		if target, err := os.Readlink(task); err == nil && !slices.Contains(s.things, target) {
			s.things = append(s.things, target)
		}
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	s.files, s.mounts = len(files), strings.Count(string(mounts), t.Name())
	return s
}

// left is what is there and was not before. That something has gone is no matter: a thread of an earlier test may end now.
func (before hostState) left(t *testing.T) (left []string) {
	t.Helper()
	now := lookAtHost(t)
	for _, thing := range now.things {
		if !slices.Contains(before.things, thing) {
			left = append(left, thing)
		}
	}
	if now.files > before.files || now.mounts > before.mounts {
		left = append(left, fmt.Sprintf("%d files and %d mounts, before %d and %d", now.files, now.mounts, before.files, before.mounts))
	}
	return left
}

func TestApplyVerifyRestore(t *testing.T) {
	needRoot(t)
	warm := newPair(t) // opens what the runtime keeps open
	if err := warm.apply(wireGraph()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(warm.a.Close(), warm.b.Close()); err != nil {
		t.Fatal(err)
	}
	before := lookAtHost(t)
	p := newPair(t)
	if err := p.apply(wireGraph()); err != nil {
		t.Fatal(err)
	}
	if len(before.left(t)) == 0 {
		t.Error("the testbed cannot be told from nothing")
	}
	ctx := context.Background()
	if err := errors.Join(p.a.Restore(ctx, "A"), p.b.Restore(ctx, "A")); err != nil {
		t.Fatal(err)
	}
	if left := before.left(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, b := range []*Backend{p.a, p.b} {
		if left, _ := filepath.Glob(b.dir + "/cell-*"); len(left) > 0 {
			t.Errorf("left on disk: %v", left)
		}
	}
}

func TestApplyTwiceChangesNothing(t *testing.T) {
	p, g := newPair(t), wireGraph()
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	stack, nic := p.a.Stack("A", "a"), device(t, p.a.Stack("A", "a"), "nic0")
	threads := napiOf(t, stack, "nic0")
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	if p.a.Stack("A", "a") != stack || device(t, stack, "nic0").Index != nic.Index || !slices.Equal(napiOf(t, stack, "nic0"), threads) {
		t.Error("a second apply rebuilt something")
	}
}

func TestChangeWithoutRebuilding(t *testing.T) {
	p, g := newPair(t), wireGraph()
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	before := device(t, p.b.Stack("A", "b"), "nic0")
	for i := range g.Links {
		for end := range g.Links[i].Ends {
			g.Links[i].Ends[end].MTU = 1400
		}
	}
	g.Bridges[0].MTU = 1400
	wire := &g.Links[0].Ends[1]
	wire.Addresses, wire.Routes = []string{"10.9.0.3/24", "10.7.0.1/30"}, []testbed.Route{{Prefix: "10.6.0.0/16"}}
	g.Links[1].Ends[1].Bridge = ""
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	after := device(t, p.b.Stack("A", "b"), "nic0")
	if after.Index != before.Index || after.MTU != 1400 {
		t.Errorf("index %d, then %d; MTU %d", before.Index, after.Index, after.MTU)
	}
}

func TestRebuildingAWire(t *testing.T) {
	for name, apply := range map[string]func(pair, testbed.Graph) error{"in order": pair.apply, "at once": pair.applyAtOnce} {
		t.Run(name, func(t *testing.T) {
			p, g := newPair(t), wireGraph()
			if err := apply(p, g); err != nil {
				t.Fatal(err)
			}
			before := device(t, p.b.Stack("A", "b"), "nic0").Index
			g.Links[0].Ends[0].Queues, g.Links[0].Ends[1].Queues = 2, 2
			if err := apply(p, g); err != nil {
				t.Fatal(err)
			}
			after := device(t, p.b.Stack("A", "b"), "nic0")
			if after.Index == before || after.NumRxQueues != 2 {
				t.Errorf("index %d, then %d with %d queues", before, after.Index, after.NumRxQueues)
			}
			if threads := napiOf(t, p.b.Stack("A", "b"), "nic0"); len(threads) != 2 {
				t.Errorf("%d receive threads for 2 queues", len(threads))
			}
			g.Bridges[0].Device = "br1" // and with it the wire, for both nodes
			if err := apply(p, g); err != nil {
				t.Error(err)
			}
		})
	}
}

func napiOf(t *testing.T, s *Stack, device string) []int {
	t.Helper()
	var threads []int
	err := s.Do(func() (err error) {
		threads, err = napiThreads(s, device)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

func TestReceiveThreadsRunOnTheirNodesCPU(t *testing.T) {
	p := newPair(t)
	if err := p.apply(wireGraph()); err != nil {
		t.Fatal(err)
	}
	for cpu, stack := range []*Stack{p.a.Stack("A", "a"), p.b.Stack("A", "b")} {
		threads := napiOf(t, stack, "nic0")
		if len(threads) != 1 {
			t.Fatalf("%d receive threads", len(threads))
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(threads[0], &set); err != nil || set != cpuSet([]int{cpu}) {
			t.Errorf("thread %d may run on %v (%v), not on CPU %d alone", threads[0], set, err, cpu)
		}
	}
}

// Kernels before 6.8 cannot be asked for a device's NAPI threads.
func TestFindingThreadsByComparing(t *testing.T) {
	p := newPair(t)
	if err := p.apply(wireGraph()); err != nil {
		t.Fatal(err)
	}
	other := wireGraph() // the same names in another cell
	other.Cell = "B"
	if err := p.apply(other); err != nil {
		t.Fatal(err)
	}
	stack := p.a.Stack("A", "a")
	var found []int
	err := stack.Do(func() (err error) {
		found, err = napiByComparing("nic0", 1)
		return err
	})
	if asked := napiOf(t, stack, "nic0"); err != nil || !slices.Equal(found, asked) {
		t.Errorf("found %v (%v), the kernel says %v", found, err, asked)
	}
}

func TestVerifyReportsEveryDifference(t *testing.T) {
	p, g := newPair(t), wireGraph()
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	wrong := wireGraph()
	end := &wrong.Links[0].Ends[1]
	end.MTU, end.MAC, end.Addresses, end.Routes = 9000, "02:00:00:00:00:0c", []string{"10.9.0.9/24"}, nil
	end.Offloads = map[string]bool{testbed.GRO: false, testbed.GROJoins: false}
	end.Steering = testbed.SteerRPS
	err := errors.Join((&cell{name: "A", cpus: []int{1}, stacks: p.b.cells["A"].stacks}).differences(wrong.Part("b"))...)
	if err == nil {
		t.Fatal("no difference found")
	}
	for _, word := range []string{"MTU is 1500, not 9000", "MAC is", "addresses are", "routes are", "rx-gro is on", "gro-joins is not off", "rx-0 is steered"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("not reported: %s\nin %v", word, err)
		}
	}
}

func TestHalfFailedApplyLeavesNothing(t *testing.T) {
	p, g := newPair(t), wireGraph()
	before := lookAtHost(t)
	if err := p.a.Apply(context.Background(), g, nil); err == nil || !strings.Contains(err.Error(), "stack of b is unknown") {
		t.Errorf("a wire to nowhere: %v", err)
	}
	if left := before.left(t); len(left) > 0 || len(p.a.cells) != 0 {
		t.Errorf("left: %v, %d cells", left, len(p.a.cells))
	}
}

func TestCPUThatIsNotThere(t *testing.T) {
	needRoot(t)
	b := New("a", nil, t.TempDir())
	defer b.Close()
	g := testbed.Graph{Cell: "A", Nodes: []testbed.Node{{Name: "a", CPUs: []int{1000}}}}
	if _, err := b.Place(context.Background(), g); err == nil || !strings.Contains(err.Error(), "CPU 1000 is not online") {
		t.Errorf("CPU 1000: %v", err)
	}
}

func TestStartedProcessIsInTheStack(t *testing.T) {
	p := newPair(t)
	if err := p.apply(wireGraph()); err != nil {
		t.Fatal(err)
	}
	stack := p.b.Stack("A", "b")
	var out strings.Builder
	cmd := exec.Command("sh", "-c", "readlink /proc/self/ns/net; grep Cpus_allowed_list /proc/self/status; cat "+stack.Sysfs()+"/class/net/nic0/mtu")
	cmd.Stdout = &out
	if err := stack.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	want, err := os.Readlink(stack.Path())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out.String()); !slices.Equal(got, []string{want, "Cpus_allowed_list:", "1", "1500"}) {
		t.Errorf("%q, want namespace %s, CPU 1, MTU 1500", got, want)
	}
}

func TestProcessesEndWithTheirStack(t *testing.T) {
	p := newPair(t)
	if err := p.apply(wireGraph()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := p.a.Stack("A", "sender").Start(cmd); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := p.a.Restore(context.Background(), "A"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		cmd.Process.Kill()
		t.Error("the process outlived its stack")
	}
}

// The other node is another process here, as in a run, and is killed.
func TestKilledAgentLeavesNothing(t *testing.T) {
	needRoot(t)
	agent := startAgent(t)
	a, ctx, g := New("a", []int{0}, t.TempDir()), context.Background(), agentGraph()
	defer a.Close()
	mine, err := a.Place(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Apply(ctx, g, agent.stacks); err != nil {
		t.Fatal(err)
	}
	agent.tell(t, mine)
	if err := a.Verify(ctx, g); err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink(agent.stacks["b"])
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	agent.process.Wait()
	err = await(ctx, 10*time.Second, func() error {
		if holders := holding(namespace); len(holders) > 0 {
			return fmt.Errorf("%s is held by %v", namespace, holders)
		}
		return a.Stack("A", "a").Do(func() error {
			return withLinks(func(h *handle) error {
				if _, err := h.LinkByName("nic0"); err == nil {
					return errors.New("the wire's other end is still there")
				}
				return nil
			})
		})
	})
	if err != nil {
		t.Error(err)
	}
	if err := a.Verify(ctx, g); err == nil || !strings.Contains(err.Error(), "nic0") {
		t.Errorf("Verify without the other node: %v", err)
	}
}

// holding lists the threads of all processes that are in a namespace.
func holding(namespace string) []string {
	var holders []string
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	for _, task := range tasks {
		if target, err := os.Readlink(task); err == nil && target == namespace {
			holders = append(holders, task)
		}
	}
	return holders
}

// agentProcess is node b in a process of its own, see playAgent.
type agentProcess struct {
	process *exec.Cmd
	in      *json.Encoder
	out     *bufio.Scanner
	stacks  map[string]string
}

func startAgent(t *testing.T) *agentProcess {
	t.Helper()
	a := &agentProcess{process: exec.Command("/proc/self/exe", "play-agent", t.TempDir())}
	a.process.Stderr = os.Stderr
	in, err := a.process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.process.Process.Kill(); a.process.Wait() })
	a.in, a.out = json.NewEncoder(in), bufio.NewScanner(out)
	if !a.out.Scan() {
		t.Fatal("the agent says nothing")
	}
	if err := json.Unmarshal(a.out.Bytes(), &a.stacks); err != nil {
		t.Fatalf("the agent says %s", a.out.Text())
	}
	return a
}

// tell hands the agent its peers and waits until it has applied the graph.
func (a *agentProcess) tell(t *testing.T, peers map[string]string) {
	t.Helper()
	if err := a.in.Encode(peers); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"peers"`, `"applied"`} {
		if !a.out.Scan() || a.out.Text() != want {
			t.Fatalf("the agent says %s, not %s", a.out.Text(), want)
		}
	}
}

func TestMissingFeatures(t *testing.T) {
	missing := Missing(context.Background())
	if os.Geteuid() != 0 {
		if len(missing) != len(testbed.Features) {
			t.Errorf("without root only %v are missing", missing)
		}
		return
	}
	for _, feature := range testbed.Features {
		t.Log(feature, missing[feature])
	}
	if missing[testbed.FeatureNetns] != "" || missing[testbed.FeatureVeth] != "" {
		t.Errorf("missing: %v", missing)
	}
}
