//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/traffic"
)

// heartbeat is how often the conductor says that it lives.
const heartbeat = time.Second

// closeTimeout bounds an agent's own teardown once its stream is closed. One that
// is killed then leaves nothing either: the kernel takes away what it held.
const closeTimeout = 5 * time.Second

// lastWordsPatience is how long a process whose output has ended may take to end
// itself, and with that the last of what it says.
const lastWordsPatience = 500 * time.Millisecond

// Client is a node as the conductor sees it: an agent at the other end of a
// byte stream.
type Client struct {
	name    string
	peer    *peer
	process *child
	beating chan struct{} // closed to stop the heartbeat
	after   func() error  // once the agent has ended; nil: nothing
}

// Spawn starts a node agent as a child process and greets it. The agent is not
// in the caller's process group, so that a Ctrl-C reaches only the conductor,
// which then takes the testbed down in order.
func Spawn(name string, command []string) (*Client, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process, err := startChild(cmd, (*exec.Cmd).Start)
	if err != nil {
		return nil, fmt.Errorf("starting the agent of node %s: %w", name, err)
	}
	p, err := connect(process.stdout, process.stdin)
	if err != nil {
		process.end(time.Second)
		return nil, fmt.Errorf("greeting the agent of node %s: %w%s", name, err, process.lastWords())
	}
	c := &Client{name: name, peer: p, process: process, beating: make(chan struct{})}
	go c.beat()
	return c, nil
}

func (c *Client) beat() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-c.beating:
			return
		case <-c.peer.ended:
			return
		case <-tick.C:
			// Not waited for: the reply shows only what ended shows as well.
			_ = c.peer.stream.write(proto.Request{Do: proto.DoHeartbeat})
		}
	}
}

func (c *Client) ask(ctx context.Context, request proto.Request) (proto.Reply, error) {
	reply, err := c.peer.ask(ctx, request)
	if err != nil {
		err = fmt.Errorf("node %s: %w", c.name, err)
		if c.peer.dead() != nil {
			err = fmt.Errorf("%w%s", err, c.process.lastWords())
		}
	}
	return reply, err
}

// Name is the node's name.
func (c *Client) Name() string { return c.name }

// PID is the agent's process id.
func (c *Client) PID() int { return c.peer.hello.PID }

// Told is what the agent of a place that runs already tells of it, nil for any other.
func (c *Client) Told() *proto.Place { return c.peer.hello.Place }

// Fingerprint is what the node is made of.
func (c *Client) Fingerprint() result.Fingerprint { return c.peer.hello.Fingerprint }

// Place makes the stacks of the node's part of a graph and returns where they are.
func (c *Client) Place(ctx context.Context, g testbed.Graph) (map[string]string, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoPlace, Cell: g.Cell, Graph: &g})
	return reply.Stacks, err
}

// Apply makes the node's part of a graph live; a graph without nodes takes the
// cell's testbed away.
func (c *Client) Apply(ctx context.Context, g testbed.Graph, peers map[string]string) error {
	_, err := c.ask(ctx, proto.Request{Do: proto.DoApply, Cell: g.Cell, Graph: &g, Peers: peers})
	return err
}

// Verify compares the live state with the graph.
func (c *Client) Verify(ctx context.Context, g testbed.Graph) error {
	_, err := c.ask(ctx, proto.Request{Do: proto.DoVerify, Cell: g.Cell, Graph: &g})
	return err
}

// Found tells what container engines made of a cell by themselves.
func (c *Client) Found(ctx context.Context, cell string) (string, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoFound, Cell: cell})
	return reply.Found, err
}

// Look tells what the node's host can do, which of the programs are missing there, and what engine is at a socket, unless
// that is "".
func (c *Client) Look(ctx context.Context, programs []string, engine string) (proto.Host, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoLook, Programs: programs, Engine: engine})
	if err == nil {
		err = checkHost(reply.Host)
	}
	if err != nil {
		return proto.Host{}, fmt.Errorf("looking at the host of node %s: %w", c.name, err)
	}
	cleanHost(reply.Host)
	return *reply.Host, nil
}

// cleanHost makes a stranger's texts fit for a terminal.
func cleanHost(h *proto.Host) {
	h.System = result.Clean(h.System)
	h.Kernel, h.NoNIC, h.NoEngine = result.Clean(h.Kernel), result.Clean(h.NoNIC), result.Clean(h.NoEngine)
	for _, texts := range []map[string]string{h.Missing, h.Programs, h.Unfit} {
		for name, why := range texts {
			texts[name] = result.Clean(why)
		}
	}
	if h.NIC != nil {
		cleanNIC(h.NIC)
	}
	for i := range h.Members {
		cleanNIC(&h.Members[i])
	}
	if h.Engine != nil {
		h.Engine.Socket, h.Engine.Version = result.Clean(h.Engine.Socket), result.Clean(h.Engine.Version)
	}
}

func cleanNIC(n *proto.NIC) {
	n.Fixed, n.Driver = result.Clean(n.Fixed), result.Clean(n.Driver)
	n.Device, n.Address = result.Clean(n.Device), result.Clean(n.Address)
}

// maxCPUs is how many CPUs Linux serves, at most (NR_CPUS in arch/x86/Kconfig).
const maxCPUs = 8192

// maxMTU is an IP packet's length, at most (RFC 791).
const maxMTU = 65535

// checkHost refuses what no host can be: it is planned with.
func checkHost(h *proto.Host) error {
	if h == nil {
		return errors.New("its answer says nothing of it")
	}
	if n := len(h.CPUs); n == 0 || n > maxCPUs {
		return fmt.Errorf("it says that it has %d CPUs", n)
	}
	seen := map[int]bool{}
	for _, cpu := range h.CPUs {
		if cpu < 0 || cpu >= maxCPUs || seen[cpu] {
			return fmt.Errorf("it says that it has a CPU %d, or has it twice", cpu)
		}
		seen[cpu] = true
	}
	if len(h.System) > maxSystem {
		return fmt.Errorf("it names its system in %d bytes", len(h.System))
	}
	if n := len(h.Members); n >= testbed.MostNICs || n > 0 && h.NIC == nil {
		return fmt.Errorf("it says that it has %d interfaces for data beside its first", n)
	}
	all := h.Members
	if h.NIC != nil {
		all = append([]proto.NIC{*h.NIC}, all...)
	}
	for _, n := range all {
		if err := checkNIC(n); err != nil {
			return err
		}
	}
	if h.MemoryBytes <= 0 {
		return errors.New("it says that its memory is less than nothing")
	}
	if e := h.Engine; e != nil && (e.MTU < 0 || e.MTU > maxMTU || !slices.Contains([]string{"", testbed.ProxyOn, testbed.ProxyOff}, e.Proxy)) {
		return fmt.Errorf("it says that its engine's bridge has the MTU %d, and that its userland proxy is %q", e.MTU, result.Clean(e.Proxy))
	}
	return nil
}

// checkNIC refuses what no interface can be.
func checkNIC(n proto.NIC) error {
	if !(n.MTU > 0 && n.MostMTU >= 0 && n.Queues >= 0 && n.SendQueues >= 0 && n.BitsPerSecond >= 0) {
		return errors.New("it says that an interface of its is less than nothing")
	}
	if !n.Channels.Possible() || n.Table < 0 || n.Rules < 0 {
		return fmt.Errorf("it says that an interface of its has the channels %s, and a table of %d places", n.Channels, n.Table)
	}
	return nil
}

// maxSystem bounds a system's name and version, in bytes.
const maxSystem = 100

// Survey asks an agent of a place what its network stack has.
func (c *Client) Survey(ctx context.Context) (testbed.Seen, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoSurvey})
	switch {
	case err != nil:
		return testbed.Seen{}, err
	case reply.Seen == nil || len(reply.Seen.Links) > testbed.MaxSeenLinks:
		return testbed.Seen{}, fmt.Errorf("node %s: what it saw is missing, or has more than %d interfaces", c.name, testbed.MaxSeenLinks)
	}
	return *reply.Seen, nil
}

// Probe opens (receive) or tries (send) a pair's check; see proto.Probe.
func (c *Client) Probe(ctx context.Context, cell, place string, probe proto.Probe) (string, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoProbe, Cell: cell, Place: place, Probe: &probe})
	return reply.Address, err
}

// Prepare makes one end of a pair ready and returns a receiver's address.
func (c *Client) Prepare(ctx context.Context, cell string, end proto.Request) (string, error) {
	end.Do, end.Cell = proto.DoPrepare, cell
	reply, err := c.ask(ctx, end)
	return reply.Address, err
}

// Calibrate asks the worker of a place how fast the order's generator is by
// itself; 0 where its kind cannot tell.
func (c *Client) Calibrate(ctx context.Context, cell, place string, order traffic.Order) (float64, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoCalibrate, Cell: cell, Place: place, Order: &order})
	return reply.PerSecond, err
}

// Start lets the prepared ends of a cell run.
func (c *Client) Start(ctx context.Context, cell string, start proto.Start) error {
	_, err := c.ask(ctx, proto.Request{Do: proto.DoStart, Cell: cell, Start: &start})
	return err
}

// Result waits for the trial's end and returns the node's part of it.
func (c *Client) Result(ctx context.Context, cell string) (proto.NodeTrial, error) {
	reply, err := c.ask(ctx, proto.Request{Do: proto.DoResult, Cell: cell})
	if err == nil && reply.Trial == nil {
		err = fmt.Errorf("node %s: its result holds no trial", c.name)
	}
	if err != nil {
		return proto.NodeTrial{}, err
	}
	cleanTrial(reply.Trial)
	if p := reply.Trial.Profile; p != nil {
		if err := p.Check(); err != nil {
			reply.Trial.Profile = &result.Profile{Missing: "what the node told of its stacks cannot be used: " + err.Error()}
		}
	}
	return *reply.Trial, nil
}

// cleanTrial makes a stranger's texts fit for a terminal: why a trial does not count is shown at once.
func cleanTrial(t *proto.NodeTrial) {
	t.Sample.Clean()
	for i := range t.Ends {
		end := &t.Ends[i]
		end.Place, end.Error = result.Clean(end.Place), fit(end.Error)
		end.End.Clean()
		end.End.Error = fit(end.End.Error)
	}
}

// Stop drops what a cell has prepared or runs.
func (c *Client) Stop(ctx context.Context, cell string) error {
	_, err := c.ask(ctx, proto.Request{Do: proto.DoStop, Cell: cell})
	return err
}

// Close ends the node's lease: the agent takes away what it made, and ends.
func (c *Client) Close() error { return c.CloseWithin(closeTimeout) }

// CloseWithin is Close for an agent that may take so long, as one on another host.
func (c *Client) CloseWithin(limit time.Duration) error {
	close(c.beating)
	err := c.process.end(limit)
	if err != nil {
		err = fmt.Errorf("ending the agent of node %s: %w%s", c.name, err, c.process.lastWords())
	}
	if c.after != nil {
		err = errors.Join(err, c.after())
	}
	return err
}

// After has something done once the agent has ended, however it did.
func (c *Client) After(do func() error) { c.after = do }

// child is a process of ours that speaks over its standard streams.
type child struct {
	pid    int // 0: it is in a container, whose engine knows
	kill   func() error
	stdin  io.WriteCloser
	stdout io.ReadCloser
	said   func() string // what it last said on the side, for messages
	exited chan struct{}
	err    error
}

// exitError is how the child ended; nil as long as it lives, too.
func (c *child) exitError() error {
	select {
	case <-c.exited:
		return c.err
	default:
		return nil
	}
}

// startChild starts cmd with pipes on its streams. start is how: exec's own, or
// a stack's, which starts it inside that stack.
func startChild(cmd *exec.Cmd, start func(*exec.Cmd) error) (*child, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of our own: Wait would close the command's under its reader.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	stderr := &netns.Tail{Limit: 8 << 10}
	c := &child{stdin: stdin, stdout: stdout, said: stderr.Quoted, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirs, stderr, time.Second
	err = start(cmd)
	theirs.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	c.pid, c.kill = cmd.Process.Pid, cmd.Process.Kill
	go func() {
		c.err = cmd.Wait() // which also waits for the last of its standard error
		close(c.exited)
	}()
	return c, nil
}

// end closes the child's input, which asks it to leave, and waits; after the
// limit it is killed, which is an error.
func (c *child) end(limit time.Duration) error {
	c.stdin.Close()
	defer c.stdout.Close()
	select {
	case <-c.exited:
		return c.err
	case <-time.After(limit):
		_ = c.kill()
		<-c.exited
		return fmt.Errorf("it did not end within %s and was killed", limit)
	}
}

// lastWords is what the child last wrote to its standard error, for messages: all of
// it once the child has ended, which is what a caller is about to tell of.
func (c *child) lastWords() string {
	select {
	case <-c.exited:
	case <-time.After(lastWordsPatience):
	}
	return printable(c.said())
}

// printable leaves nothing in a stranger's words that a terminal would obey.
func printable(words string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, words)
}
