package wire

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	readyPatience = 3 * time.Second
	lookEvery     = 5 * time.Millisecond
)

// Listens is a Ready for servers that listen on a TCP port and do not say so.
func Listens(port int) func(context.Context, *exec.Cmd) error {
	const listen = "0A" // TCP_LISTEN in include/net/tcp_states.h
	return stands(port, listen, "tcp", "tcp6")
}

// Binds is a Ready for servers that have bound a UDP port.
func Binds(port int) func(context.Context, *exec.Cmd) error {
	const closed = "07" // TCP_CLOSE: UDP sockets that are not connected
	return stands(port, closed, "udp", "udp6")
}

// stands waits until the process's network namespace has a socket on the port in such a
// state.
func stands(port int, state string, tables ...string) func(context.Context, *exec.Cmd) error {
	end := fmt.Sprintf(":%04X", port)
	return func(ctx context.Context, server *exec.Cmd) error {
		for limit := time.Now().Add(readyPatience); time.Now().Before(limit); {
			for _, table := range tables {
				text, err := os.ReadFile(procNet(server, table))
				if err != nil {
					return fmt.Errorf("the server has ended before it had its port: %w", err)
				}
				for line := range strings.Lines(string(text)) {
					if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], end) && f[3] == state {
						return nil
					}
				}
			}
			if err := Wait(ctx, lookEvery); err != nil {
				return err
			}
		}
		return fmt.Errorf("nothing has port %d in /proc/net/%s after %s", port, tables[0], readyPatience)
	}
}

func procNet(server *exec.Cmd, table string) string {
	return "/proc/" + strconv.Itoa(server.Process.Pid) + "/net/" + table
}

// flowing is how many packets have come when a client has begun in earnest, and
// flowPatience how long it may take until then.
const (
	flowing      = 500
	flowPatience = 10 * time.Second
)

// Flows is a Begun that waits until packets come in numbers, or gives up: then the
// window shows what there is.
func Flows(ctx context.Context, server *exec.Cmd) error {
	first, err := received(server)
	if err != nil {
		return err
	}
	for limit := time.Now().Add(flowPatience); time.Now().Before(limit); {
		n, err := received(server)
		if err != nil || n > first+flowing {
			return err
		}
		if err := Wait(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// received is how many packets have come over the wire to a process's node.
func received(server *exec.Cmd) (uint64, error) {
	text, err := os.ReadFile(procNet(server, "dev"))
	if err != nil {
		return 0, fmt.Errorf("the server has ended: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		device, counters, _ := strings.Cut(line, ":")
		fields := strings.Fields(counters) // received: bytes, packets, ...
		if strings.TrimSpace(device) == B.Device && len(fields) > 1 {
			return strconv.ParseUint(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("the server's node has no %s", B.Device)
}
