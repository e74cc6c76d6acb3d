package oneoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/kinds"
)

// RecvConfig is a receiver of everything that this program understands.
type RecvConfig struct {
	Native Native
	Only   []string // protocols by name; empty: all that can listen
	Once   bool     // end when the first session has
	// Server is what every protocol's server is given: its bounds are each
	// protocol's own. Ready and Event are set by Recv.
	Server traffic.ServerConfig
}

// RecvShow is told what a receiver does, and when it did, one call at a time. One that is slow is told later, and less.
type RecvShow interface {
	Listens(at time.Time, protocol string, addresses []string)
	Deaf(at time.Time, protocol string, why error)  // it does not listen
	Lacks(at time.Time, protocol string, why error) // it does not listen everywhere
	Event(time.Time, traffic.ServerEvent)
}

// Servers are all protocols' servers, the native first.
func Servers() []traffic.Server { return append([]traffic.Server{Native{}}, kinds.Servers()...) }

// Protocols lists the servers' names, the native first.
func Protocols() []string {
	var names []string
	for _, s := range Servers() {
		names = append(names, s.Name())
	}
	return names
}

// Check refuses what can be refused before anything listens.
func (c RecvConfig) Check() error {
	for _, name := range c.Only {
		if !slices.Contains(Protocols(), name) {
			return fmt.Errorf("%s", result.UnknownWord("protocol", name, Protocols()))
		}
	}
	for _, name := range c.Native.Kinds {
		if _, err := KindByName(name); err != nil {
			return err
		}
	}
	switch {
	case c.Native.Port < 0 || c.Native.Port > 65535:
		return fmt.Errorf("port %d is none", c.Native.Port)
	case c.Native.Port > 0 && c.Native.DataPorts == PortRange{c.Native.Port, c.Native.Port}:
		return fmt.Errorf("the only port for data, %d, is where senders come: take another, or several", c.Native.Port)
	case c.Server.MaxClients < 1:
		return fmt.Errorf("a receiver of %d clients has nothing to do", c.Server.MaxClients)
	case c.Server.MaxTime < 0:
		return fmt.Errorf("a time of %s is none", c.Server.MaxTime)
	}
	if err := c.checkPort(); err != nil {
		return err
	}
	return traffic.CheckCPUs(c.Server.CPUs)
}

// checkPort refuses a port for our senders that is another protocol's, if both are served: whichever came first would have it.
func (c RecvConfig) checkPort() error {
	served := c.servers()
	if !slices.ContainsFunc(served, func(s traffic.Server) bool { return s.Name() == c.Native.Name() }) {
		return nil
	}
	for _, other := range served {
		if other.Name() == c.Native.Name() {
			continue
		}
		for text := range strings.SplitSeq(other.Ports(), ", ") {
			if its, err := ParsePortRange(text); err == nil && its.First <= c.Native.Port && c.Native.Port <= its.Last {
				return fmt.Errorf("--port %d is %s's (%s); take another, or leave one of the two protocols out with --only", c.Native.Port, other.Name(), other.Ports())
			}
		}
	}
	return nil
}

// Recv serves every protocol until ctx ends. One that cannot listen, because
// somebody else has its port, leaves the others alone, unless it was asked for by
// name; that none can is an error.
func Recv(ctx context.Context, config RecvConfig, show RecvShow) error {
	if err := config.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &receiving{config: config, teller: newTeller(show), cancel: cancel}
	defer r.relay.Close()
	var serving sync.WaitGroup
	servers := config.servers()
	for _, server := range servers {
		serving.Go(func() { r.serve(ctx, server) })
	}
	serving.Wait()
	if len(config.Only) > 0 || len(r.deaf) == len(servers) {
		return errors.Join(r.deaf...)
	}
	return nil
}

func (c RecvConfig) servers() []traffic.Server {
	all := append([]traffic.Server{c.Native}, kinds.Servers()...)
	return slices.DeleteFunc(all, func(s traffic.Server) bool {
		return len(c.Only) > 0 && !slices.Contains(c.Only, s.Name())
	})
}

// receiving is a receiver under way.
type receiving struct {
	teller
	config RecvConfig
	cancel context.CancelFunc

	mu   sync.Mutex
	deaf []error
}

func (r *receiving) serve(ctx context.Context, server traffic.Server) {
	config := r.config.Server
	config.Ready = func(addresses []string) {
		r.tell(func(show RecvShow, at time.Time) { show.Listens(at, server.Name(), addresses) })
	}
	config.Event = r.event
	config.Lacks = func(why error) error { return r.lacks(server.Name(), why) }
	err := server.Serve(ctx, config)
	if err == nil {
		return
	}
	if inUse(err) {
		err = fmt.Errorf("its port (%s) is in use already, perhaps by that tool's own server", server.Ports())
	}
	r.tell(func(show RecvShow, at time.Time) { show.Deaf(at, server.Name(), err) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = append(r.deaf, fmt.Errorf("%s: %w", server.Name(), err))
	if len(r.config.Only) > 0 {
		r.cancel()
	}
}

// lacks is no error unless the protocol is one of those that were asked for.
func (r *receiving) lacks(protocol string, why error) error {
	if len(r.config.Only) > 0 {
		return why
	}
	r.tell(func(show RecvShow, at time.Time) { show.Lacks(at, protocol, why) })
	return nil
}

func (r *receiving) event(e traffic.ServerEvent) {
	if tell := func(show RecvShow, at time.Time) { show.Event(at, e) }; e.What == traffic.SessionInterval {
		r.minor(tell)
	} else {
		r.tell(tell)
	}
	if r.config.Once && e.Session > 0 && (e.What == traffic.SessionEnded || e.What == traffic.SessionFailed) {
		r.cancel()
	}
}
