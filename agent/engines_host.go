//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"windtunnel/testbed"
	"windtunnel/testbed/docker"
	"windtunnel/testbed/netns"
)

// hostEngines is what is known of engines that run without us, and what we have there beside the cells' containers.
type hostEngines struct {
	images map[string]string // of our program, by the engine's socket
	asked  map[string]bool   // addresses that nobody had before us, by network
	owed   []Engine          // what is still to be removed
}

func newHostEngines() hostEngines {
	return hostEngines{images: map[string]string{}, asked: map[string]bool{}}
}

// learnWithin bounds the look at an engine: less than a conductor waits for all of a host.
const learnWithin = 20 * time.Second

// learn looks at the engine at a socket. An image of our program stays there until close.
func (e *engines) learn(ctx context.Context, socket string) (*testbed.HostEngine, error) {
	ctx, cancel := context.WithTimeout(ctx, learnWithin)
	defer cancel()
	ours := Engine{Socket: socket, Lease: e.config.Dir}
	note := func() error { return e.journal.write(entry{Engine: ours}) } // nothing, of one that does not answer
	config := docker.Config{Socket: socket, Processes: "/proc", Program: e.config.Worker[0], Idle: e.config.Worker[1:],
		CPUs: e.config.CPUs, Lease: ours.Lease, Prefix: fmt.Sprintf("windtunnel-%d-", os.Getpid())}
	found, image, err := docker.Learn(ctx, config, note)
	if err != nil {
		if found.Version == "" {
			return nil, err // it has nothing of ours
		}
		return nil, errors.Join(err, e.hosts.remove(context.WithoutCancel(ctx), ours))
	}
	e.hosts.images[socket] = image
	e.hosts.owed = append(e.hosts.owed, ours)
	return &found, nil
}

// remove takes away what an engine has under a lease. What it cannot take is owed until close.
func (h *hostEngines) remove(ctx context.Context, engine Engine) error {
	_, err := docker.Remove(ctx, engine.Socket, engine.Lease)
	if err == nil {
		return nil
	}
	if !slices.Contains(h.owed, engine) {
		h.owed = append(h.owed, engine)
	}
	return fmt.Errorf("%w; %s", err, engine.left())
}

// close takes away what is owed.
func (h *hostEngines) close(ctx context.Context) (err error) {
	owed := h.owed
	h.owed = nil
	for _, engine := range slices.Backward(owed) { // containers before their image
		err = errors.Join(err, h.remove(ctx, engine))
	}
	return err
}

// left says what to do about an engine that does not remove what is ours.
func (e Engine) left() string {
	return fmt.Sprintf("what the engine at %s may have of %s goes by: docker rm -f $(docker ps -aq --filter label=%s=%s)",
		e.Socket, e.Lease, docker.LeaseLabel, e.Lease)
}

// refuseTaken asks, once, on the segment that containers are to be neighbours of, whether somebody has their addresses: on a
// real network nobody else deals them out.
func (e *engines) refuseTaken(ctx context.Context, cell string, want testbed.Engine) error {
	for _, c := range want.Containers {
		at := slices.IndexFunc(want.Networks, func(n testbed.EngineNetwork) bool { return n.Name == c.Network })
		if at < 0 || want.Networks[at].Driver != testbed.DriverMacvlan || c.Address == "" {
			continue
		}
		device := want.Networks[at].Options["parent"]
		key := device + " " + c.Address
		if e.hosts.asked[key] {
			continue
		}
		address, err := netip.ParseAddr(c.Address)
		if err != nil {
			return err
		}
		stack := e.backend.Stack(cell, e.config.Name)
		if stack == nil {
			return errors.New("the node's stack is gone")
		}
		mac := ""
		err = stack.Do(func() (err error) { mac, err = netns.Taken(ctx, device, address); return err })
		if err != nil {
			return err
		}
		if mac != "" {
			return fmt.Errorf("the container %s was to have the address %s, which %s on the network of %s has: say by `subnet` which part of that network is free, as in `subnet: 10.0.0.64/26`",
				c.Name, c.Address, mac, device)
		}
		e.hosts.asked[key] = true
	}
	return nil
}
