//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"windtunnel/agent"
	"windtunnel/agent/ours"
	"windtunnel/agent/ssh"
	"windtunnel/scenario"
)

// enterPlace starts the agent of a place that runs already.
func enterPlace(ctx context.Context, n scenario.Node, self string) (*agent.Client, error) {
	c, err := agent.Enter(ctx, agent.Entry{Name: n.Name, Exec: n.Exec, Program: n.Program, Bring: finding(self)})
	if !errors.Is(err, agent.ErrNoShell) || filepath.Base(n.Exec[0]) != "ssh" || n.Program != "" {
		return c, err
	}
	login := ssh.Login(n.Exec)
	system, looked := login.LookAtWindows(ctx)
	if looked != nil {
		return nil, errors.Join(err, looked)
	}
	return startOnWindows(ctx, n.Name, login, system, "--place", n.Name)
}

// finding finds our program for other machines.
func finding(self string) func(system, architecture string) (string, error) {
	return func(system, architecture string) (string, error) {
		return ours.Find(self, ours.Program, system, architecture)
	}
}

// enterHost starts the agent of a host that is no Linux: it builds nothing there, and needs no root.
func enterHost(ctx context.Context, h ssh.Host, system ssh.System, work string, toward []netip.Addr) (*agent.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	flags := append([]string{"--node", h.Node, "--lease", work}, h.DataFlags(toward)...)
	if system.OS == "windows" {
		return startOnWindows(ctx, h.Node, h.Login(), system, flags...)
	}
	return agent.Enter(ctx, agent.Entry{Name: h.Node, Exec: h.Login(), Bring: finding(self), Agent: flags})
}

// startOnWindows brings our program to a host of Windows and starts an agent there.
func startOnWindows(ctx context.Context, name string, login ssh.Login, system ssh.System, flags ...string) (*agent.Client, error) {
	programs, err := ssh.Programs(system, []string{ours.Program})
	if err != nil {
		return nil, err
	}
	brought, err := login.Deliver(ctx, programs[0].File)
	if err != nil {
		return nil, err
	}
	c, err := agent.Spawn(name, brought.Agent(flags...))
	if err == nil && c.Told() == nil {
		err = errors.Join(fmt.Errorf("what answers on %s is no agent of a machine in which nothing is built", login), c.Close())
	}
	if err != nil {
		return nil, errors.Join(err, brought.Remove())
	}
	c.After(brought.Remove)
	return c, nil
}
