//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"windtunnel/agent/proto"
	"windtunnel/testbed/netns"
)

// ThisHost looks at this machine: the CPUs that this process may use, its
// memory and kernel. Features, programs and interfaces are not looked at.
func ThisHost() (proto.Host, error) {
	var h proto.Host
	var set unix.CPUSet
	var info unix.Sysinfo_t
	var name unix.Utsname
	err := errors.Join(unix.SchedGetaffinity(0, &set), unix.Sysinfo(&info), unix.Uname(&name))
	if err != nil {
		return h, fmt.Errorf("looking at this host: %w", err)
	}
	for cpu := 0; len(h.CPUs) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			h.CPUs = append(h.CPUs, cpu)
		}
	}
	h.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	h.Kernel = unix.ByteSliceToString(name.Release[:])
	return h, nil
}

// look tells what this node's host can do, and which of the programs it lacks.
func (n *node) look(ctx context.Context, programs []string, engine string) proto.Reply {
	h, err := ThisHost()
	if err != nil {
		return refuse("%v", err)
	}
	h.CPUs = n.config.CPUs
	h.Missing, h.Programs, h.Unfit = Missing(ctx), map[string]string{}, map[string]string{}
	for _, name := range programs {
		file, err := netns.FindProgram(name)
		if err != nil {
			h.Programs[name] = err.Error()
		} else if brought(file) {
			if why := unloadable(ctx, file); why != "" {
				h.Unfit[name] = why
			}
		}
	}
	if n.nics != nil {
		h.NIC, h.Members, h.NoNIC = n.nics.facts()
	}
	if engine != "" && n.engines != nil {
		if h.Engine, err = n.engines.learn(ctx, engine); err != nil {
			h.NoEngine = err.Error()
		}
	}
	return proto.Reply{Host: &h}
}
