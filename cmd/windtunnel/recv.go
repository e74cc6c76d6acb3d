package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"windtunnel/oneoff"
	"windtunnel/result"
	"windtunnel/traffic"
)

// recvFlags are what `windtunnel recv` takes.
type recvFlags struct {
	bind       string
	port       int
	only       []string
	kinds      []string
	dataPorts  string
	maxClients int
	maxBytes   string
	maxTime    string
	cpus       string
	once       bool
	json       bool
}

func recvCommand(s streams) *cobra.Command {
	var f recvFlags
	c := &cobra.Command{
		Use:   "recv",
		Short: "Receive traffic from windtunnel, iperf3 and ntttcp clients, many at once, until Ctrl-C",
		Long: "Receive traffic from windtunnel's senders and from the clients of other tools, each on its usual\n" +
			"ports (" + strings.Join(served(), ", ") + "), many at once. It can be left running: clients,\n" +
			"bytes and time are bounded. A protocol whose port is taken is left out with a word, unless --only\n" +
			"asked for it. Anybody who reaches the ports may send: bind it to an address that only those reach.",
		Example: "  windtunnel recv\n" +
			"  windtunnel recv --bind 10.0.0.2 --only native --data-ports 6000-6099\n" +
			"  windtunnel recv --max-clients 4 --max-bytes 100GB --max-time 1min --json",
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	c.Flags().StringVar(&f.bind, "bind", "", "the IP to listen on (default all)")
	c.Flags().IntVar(&f.port, "port", oneoff.DefaultPort, "where windtunnel's senders come")
	c.Flags().StringSliceVar(&f.only, "only", nil, "only these protocols ("+strings.Join(oneoff.Protocols(), ", ")+"), and fail if one cannot listen")
	c.Flags().StringSliceVar(&f.kinds, "kinds", nil, "what windtunnel's senders may send (default all: "+strings.Join(oneoff.Kinds(), ", ")+"); frame attaches BPF programs, if this is root")
	c.Flags().StringVar(&f.dataPorts, "data-ports", "", "take the data of windtunnel's senders on these ports (6000-6099), for a firewall (default any)")
	c.Flags().IntVar(&f.maxClients, "max-clients", 16, "clients at once, of each protocol")
	c.Flags().StringVar(&f.maxBytes, "max-bytes", "", "payload of one client (default as much as the time allows)")
	c.Flags().StringVar(&f.maxTime, "max-time", "10min", "time of one client, with its warm-up; 0s: no bound")
	c.Flags().StringVar(&f.cpus, "cpus", "", "pin the hot threads to these CPUs, in turn (0,1)")
	c.Flags().BoolVar(&f.once, "once", false, "end when the first client has")
	c.Flags().BoolVar(&f.json, "json", false, "one JSON object for each event")
	c.Flags().SortFlags = false
	return c
}

// served lists the protocols with their ports.
func served() []string {
	var all []string
	for _, server := range oneoff.Servers() {
		all = append(all, server.Name()+" "+server.Ports())
	}
	return all
}

func (f recvFlags) run(ctx context.Context, s streams) error {
	config, err := f.config()
	if err == nil {
		err = config.Check()
	}
	if err == nil {
		err = f.canBind(ctx)
	}
	if err != nil {
		return refused(err)
	}
	var show oneoff.RecvShow = oneoff.RecvText{Out: s.err}
	lost := make(chan error, 1) // the first that keeps events from being written
	if f.json {
		show = oneoff.RecvJSON{Out: s.out, Lost: func(err error) {
			select {
			case lost <- err:
				fmt.Fprintf(s.err, "windtunnel: %v: events are missing\n", err)
			default:
			}
		}}
	}
	signal.Ignore(syscall.SIGPIPE) // senders are served, also where nobody reads of them any more (recv --json | head -1)
	err = oneoff.Recv(ctx, config, show)
	if err == nil && ctx.Err() != nil {
		err = coded{exitInterrupted, errors.New("stopped")}
	}
	select {
	case unsaid := <-lost:
		return unwritten(unsaid, err)
	default:
		return ended(err)
	}
}

// canBind tells why nothing can listen on --bind, once for all protocols and before any of them says it in its own words.
func (f recvFlags) canBind(ctx context.Context) error {
	if f.bind == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(f.bind); err == nil {
		return fmt.Errorf("--bind %s has a port; write --bind %s --port %s, where the port is that of windtunnel's senders", result.Clean(f.bind), result.Clean(host), result.Clean(port))
	}
	if bare := strings.Trim(f.bind, "[]"); bare != f.bind {
		return fmt.Errorf("--bind %s: write --bind %s, without brackets", result.Clean(f.bind), result.Clean(bare))
	}
	if wrong := traffic.BadZone(f.bind); wrong != "" {
		return fmt.Errorf("--bind: %s", wrong)
	}
	if at, err := netip.ParseAddr(f.bind); err == nil && at.IsMulticast() {
		return fmt.Errorf("--bind %s is a group's address, to which nobody can connect; write one of this host, or leave --bind away for all", at)
	}
	socket, err := traffic.ListenPacket(ctx, net.ListenConfig{}, "udp", f.bind, "0")
	switch {
	case err == nil:
		return socket.Close()
	case errors.As(err, new(*net.DNSError)):
		return fmt.Errorf("--bind %s is no IP, and no name of one here", result.Clean(f.bind))
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("--bind %s is no address of this host; write one that is, or leave --bind away for all", result.Clean(f.bind))
	}
	return fmt.Errorf("--bind %s: %w", result.Clean(f.bind), err)
}

// config reads the flags.
func (f recvFlags) config() (oneoff.RecvConfig, error) {
	config := oneoff.RecvConfig{
		Native: oneoff.Native{Port: f.port, Kinds: f.kinds, Release: release, Calibrations: calibrations()}, Only: f.only, Once: f.once,
		Server: traffic.ServerConfig{Host: f.bind, MaxClients: f.maxClients},
	}
	if f.port < 1 || f.port > 65535 {
		return config, fmt.Errorf("--port %d is no port", f.port)
	}
	var err error
	if f.dataPorts != "" {
		if config.Native.DataPorts, err = oneoff.ParsePortRange(f.dataPorts); err != nil {
			return config, fmt.Errorf("--data-ports: %w", err)
		}
	}
	if f.maxBytes != "" {
		bytes, err := result.ParseSize(f.maxBytes)
		if err != nil {
			return config, fmt.Errorf("--max-bytes: %w", err)
		}
		if bytes == 0 {
			return config, fmt.Errorf("--max-bytes %s lets nobody send anything; leave it away for no bound", f.maxBytes)
		}
		config.Server.MaxBytes = uint64(bytes)
	}
	if config.Server.MaxTime, err = result.ParseDuration(f.maxTime); err != nil {
		return config, fmt.Errorf("--max-time: %w", err)
	}
	if f.cpus != "" {
		config.Server.CPUs, err = parseCPUs(f.cpus)
	}
	return config, err
}
