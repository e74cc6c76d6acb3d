//go:build linux

package run

import "windtunnel/agent"

// LocalHost looks at this machine. Features are not looked at.
func LocalHost() (Host, error) {
	h, err := agent.ThisHost()
	return Host{CPUs: h.CPUs, MemoryBytes: h.MemoryBytes, Kernel: h.Kernel}, err
}
