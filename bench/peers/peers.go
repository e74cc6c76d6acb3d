// Package peers knows the tools that traffic is compared with: whether they are here,
// and the commands by which each does a piece of work. One file a tool.
package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"windtunnel/bench/wire"
)

// What is what a receiver counts.
type What int

const (
	Bytes           What = iota // of a TCP stream
	Datagrams                   // received by sockets
	TCPTransactions             // requests of one byte received
	UDPTransactions
	Frames // by no peer here
)

// Work is what a tool is to do between wire.A and wire.B.
type Work struct {
	What     What
	Message  int  // bytes of payload: of a write, a datagram or a request
	NoDelay  bool // of a stream
	ZeroCopy bool // of a stream: zero copy, and discard where the tool can
	Offload  bool // of datagrams: segmentation offload where the tool can
}

// Tool is a foreign program.
type Tool struct {
	Name string // with its version
	// Commands are those for a piece of work of so many seconds; false: it cannot do it.
	Commands func(w Work, seconds int) (Commands, bool)
}

// Commands are those of one trial.
type Commands struct {
	Server, Client []string
	Ready          func(context.Context, *exec.Cmd) error // as wire.Peer's
	Begun          func(context.Context, *exec.Cmd) error
	Lingers        bool // the server goes on when its client has gone
	Aggregates     bool // its receiver takes aggregates (UDP_GRO)
	Message        int  // bytes of a request, where it cannot be the work's; else 0
}

// dataPort is where tools listen that can be told.
const dataPort = 5213

// Find finds the tools that are installed; iperf3, nuttcp and sockperf must be.
func Find(ctx context.Context) (all []Tool, err error) {
	for _, find := range []func(context.Context) ([]Tool, error){findIperf3, findNuttcp, findSockperf, findNetperf, findNeper, findNtttcp} {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Names are the tools' names in one line.
func Names(tools []Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return strings.Join(all, ", ")
}

// installed says whether a tool that may be missing is here.
func installed(programs ...string) bool {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}

// missing is the error of a tool that must be here.
func missing(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("finding %s (Debian: apt-get install %s): %w", program, program, err)
	}
	return nil
}

// askPatience is how long a tool may take to tell something of itself.
const askPatience = 5 * time.Second

// ask returns what a command prints. Some tools end with an error when they are asked for
// help, and neper leaves a log where it runs.
func ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	dir, err := os.MkdirTemp("", "wtst-ask-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && (ctx.Err() != nil || !errors.As(err, &ended)) {
		return "", fmt.Errorf("asking %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

var version = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)

// named is a tool's name with the first version in what the command prints.
func named(ctx context.Context, name string, args ...string) (string, error) {
	text, err := ask(ctx, args...)
	if err != nil {
		return "", err
	}
	found := version.FindString(text)
	if found == "" {
		return "", fmt.Errorf("%s tells no version", strings.Join(args, " "))
	}
	return name + " " + found, nil
}

// one finds a tool that must be here, and has its version in what the command prints.
func one(ctx context.Context, name string, commands func(Work, int) (Commands, bool), asked ...string) ([]Tool, error) {
	if err := missing(asked[0]); err != nil {
		return nil, err
	}
	full, err := named(ctx, name, asked...)
	if err != nil {
		return nil, err
	}
	return []Tool{{Name: full, Commands: commands}}, nil
}

// Program is one trial after the other of a tool.
func (t Tool) Program(w Work, window time.Duration) (p wire.Program, able bool) {
	c, able := t.Commands(w, wire.PeerSeconds(window))
	return wire.Program{Name: t.Name, Run: func(ctx context.Context, on *wire.Wire) (wire.Sample, error) {
		sample, err := on.RunPeer(ctx, wire.Peer{Server: c.Server, Client: c.Client, Ready: c.Ready, Begun: c.Begun, Lingers: c.Lingers, Window: window})
		switch {
		case err == nil:
			sample.PerSecond = w.Count(sample, c)
		case ctx.Err() == nil: // a peer's failure is its own
			sample, err = wire.Sample{Failed: err}, nil
		}
		return sample, err
	}}, able
}

// Count is what the receiver's kernel says per second, the same for all tools.
func (w Work) Count(s wire.Sample, c Commands) float64 {
	message := max(w.Message, c.Message)
	seconds := s.Receiver.WindowSeconds
	switch {
	case w.What == Bytes:
		return s.RateTCP() / 8
	case w.What == TCPTransactions:
		return float64(s.ReceivedTCP) / float64(message) / seconds
	case c.Aggregates:
		return taken(s, message)
	}
	return float64(s.ReceivedUDP) / seconds
}

// taken is how many datagrams a receiver of aggregates got per second: of those that
// came up to IP, the share of aggregates that its socket had room for.
func taken(s wire.Sample, message int) float64 {
	if s.ReceivedUDP == 0 {
		return 0
	}
	return UpTo(s, message) * float64(s.ReceivedUDP) / float64(s.ReceivedUDP+s.DroppedUDP)
}

// UpTo is how many datagrams of a size came up to the receiver's IP layer per second:
// an aggregate has one header of IP and UDP before the payload of all its datagrams.
func UpTo(s wire.Sample, message int) float64 {
	const headers = 20 + 8
	stack := s.Receiver.Stacks[0]
	return (float64(stack.InBytes) - headers*float64(stack.InPackets)) / float64(message) / s.Receiver.WindowSeconds
}
