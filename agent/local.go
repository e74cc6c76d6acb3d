//go:build linux

package agent

import (
	"fmt"
	"os/exec"

	"windtunnel/testbed/netns"
	"windtunnel/traffic"
)

// local is the backend of a simulated node on this host.
type local struct{ *netns.Backend }

var _ Backend = local{}

func (l local) stack(cell, place string) (*netns.Stack, error) {
	if stack := l.Stack(cell, place); stack != nil {
		return stack, nil
	}
	return nil, fmt.Errorf("cell %q has no stack for %q", cell, place)
}

func (l local) Start(cell, place string, cmd *exec.Cmd) error {
	stack, err := l.stack(cell, place)
	if err != nil {
		return err
	}
	return stack.Start(cmd)
}

func (l local) Do(cell, place string, f func() error) error {
	stack, err := l.stack(cell, place)
	if err != nil {
		return err
	}
	return stack.Do(f)
}

func (l local) Sysfs(cell, place string) string {
	if stack := l.Stack(cell, place); stack != nil {
		return stack.Sysfs()
	}
	return ""
}

func (l local) Port(cell, place string) *traffic.Port {
	p, address, tester, ok := l.Backend.Port(cell, place)
	if !ok {
		return nil
	}
	return &traffic.Port{Name: p.Place, Tester: tester, MAC: p.MAC, NextHop: p.NextHop, Address: address.String(), MTU: p.MTU,
		Device: p.Device, CPUs: p.CPUs, Tunnel: p.Tunnel}
}

func (l local) Switches(cell string) []Switch {
	var all []Switch
	for _, d := range l.Daemons(cell) {
		all = append(all, Switch{Name: d.Name, PID: d.PID, Probe: d.Probe, Socket: d.Socket})
	}
	return all
}
