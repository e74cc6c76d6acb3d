package wire

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// A trial in which other programs took more than this share of the CPUs (a quiet
// machine's own housekeeping and the probes take 1 %) is repeated, up to so many
// times in all.
const (
	Disturbed      = 0.05
	disturbedTries = 4
)

// Program is one of those that are compared: ours, or a peer. Run makes one trial
// of it and returns the window's sample.
type Program struct {
	Name string // with its version
	Run  func(ctx context.Context, w *Wire) (Sample, error)
}

// Round runs every program once, the turn-th first, so that each place in a round
// falls to each in turn. The samples are as the programs are given.
func (w *Wire) Round(ctx context.Context, turn int, programs []Program) ([]Sample, error) {
	samples := make([]Sample, len(programs))
	for i := range programs {
		at := (turn + i) % len(programs)
		if turn/len(programs)%2 == 1 { // backwards, so that neighbours change, too
			at = len(programs) - 1 - at
		}
		s, err := undisturbed(ctx, &w.cpus, func() (Sample, error) { return programs[at].Run(ctx, w) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", programs[at].Name, err)
		}
		samples[at] = s
	}
	return samples, nil
}

// undisturbed repeats a trial in which other programs used the CPUs, or these were far from each other, a few times, and returns
// the least disturbed one.
func undisturbed(ctx context.Context, cpus *distance, trial func() (Sample, error)) (best Sample, err error) {
	for try := range disturbedTries {
		if err := cpus.await(ctx, NearPatience, nearEvery); err != nil {
			return best, err
		}
		s, err := trial()
		if err != nil {
			return s, err
		}
		if try == 0 || best.Apart && !s.Apart || best.Apart == s.Apart && s.Foreign() < best.Foreign() {
			best = s
		}
		if best.Foreign() <= Disturbed && !best.Apart || ctx.Err() != nil {
			break
		}
	}
	return best, nil
}

// Peer is a foreign program's server and client, of which one trial is made.
type Peer struct {
	Server, Client []string // commands with their arguments
	// Ready waits until the server serves; it may read the server's output.
	Ready func(ctx context.Context, server *exec.Cmd) error
	// Begun waits until traffic flows, for a client that takes its time; nil: it does at once.
	Begun func(ctx context.Context, server *exec.Cmd) error
	// Lingers says that the server goes on when its client has gone.
	Lingers bool
	Window  time.Duration
}

// RunPeer runs one trial: the server on B, the client on A, and the window in the
// middle.
func (w *Wire) RunPeer(ctx context.Context, p Peer) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Window+15*time.Second)
	defer cancel()
	server := B.Command(ctx, w.Nice, p.Server...)
	server.Dir = w.dir
	if err := server.Start(); err != nil {
		return Sample{}, err
	}
	defer StopProcess(server)
	if err := p.Ready(ctx, server); err != nil {
		return Sample{}, fmt.Errorf("starting the server: %w", err)
	}
	client := A.Command(ctx, w.Nice, p.Client...)
	client.Dir = w.dir
	if err := client.Start(); err != nil {
		return Sample{}, err
	}
	defer StopProcess(client)
	if p.Begun != nil {
		if err := p.Begun(ctx, server); err != nil {
			return Sample{}, fmt.Errorf("starting the client: %w", err)
		}
	}
	if err := Wait(ctx, WarmUp); err != nil {
		return Sample{}, err
	}
	s, err := w.Sample(ctx, p.Window, server.Process.Pid, client.Process.Pid)
	if err != nil {
		return s, err
	}
	if err := client.Wait(); err != nil {
		return s, fmt.Errorf("running the client: %w", err)
	}
	if p.Lingers {
		return s, nil
	}
	return s, server.Wait()
}

// PeerSeconds is how many whole seconds a peer has to run for such a window.
func PeerSeconds(window time.Duration) int {
	return int((WarmUp + window + Margin + time.Second - 1) / time.Second)
}
