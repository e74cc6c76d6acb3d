package frame

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// telemetry asks a program of DPDK's for what its ports count, at any instant, whatever it shows by itself (DPDK's
// "Telemetry User Guide": messages of a Unix socket, a command each, answered in JSON).
type telemetry struct {
	conn *net.UnixConn
	// release is DPDK's, as it greets.
	release string
}

const (
	telemetryPatience = 2 * time.Second // for an answer; it is a thread of its own
	telemetryAnswer   = 16 << 10        // bytes, the most that it gives (max_output_len)
	longestRelease    = 100
	longestSocket     = 107 // sun_path of unix(7), and the zero that ends it
)

// telemetrySocket is where EAL makes the socket, in the folder that it is told is its own, and with the prefix
// that it is told (--file-prefix).
func telemetrySocket(folder, prefix string) (string, error) {
	socket := filepath.Join(folder, "dpdk", prefix, "dpdk_telemetry.v2")
	if len(socket) > longestSocket {
		return "", fmt.Errorf("the socket %s has %d bytes, %d are possible: use a shorter folder", socket, len(socket), longestSocket)
	}
	return socket, nil
}

// awaitTelemetry returns once it tells what port 0 has sent: EAL begins to serve before the program's ports are there.
func awaitTelemetry(ctx context.Context, socket string, ended <-chan struct{}, patience time.Duration) (*telemetry, error) {
	return awaitServer(ctx, ended, patience, "tell what it counts", func(context.Context) (*telemetry, error) {
		t, err := dialTelemetry(socket)
		if err != nil {
			return nil, err
		}
		if _, err := t.transmitted(); err != nil {
			return nil, errors.Join(err, t.close())
		}
		return t, nil
	})
}

// dialTelemetry reads the greeting.
func dialTelemetry(socket string) (*telemetry, error) {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("asking DPDK for its counters: %w", err)
	}
	t := &telemetry{conn: conn}
	_ = conn.SetDeadline(time.Now().Add(telemetryPatience)) // else the next call tells
	var hello struct {
		Version string `json:"version"`
	}
	if err := t.hear(&hello); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if len(hello.Version) > longestRelease {
		return nil, errors.Join(fmt.Errorf("DPDK's telemetry has a version of %d bytes", len(hello.Version)), conn.Close())
	}
	t.release = hello.Version
	return t, nil
}

func (t *telemetry) hear(into any) error {
	answer := make([]byte, telemetryAnswer)
	n, err := t.conn.Read(answer)
	if err != nil {
		return fmt.Errorf("waiting for DPDK's counters: %w", err)
	}
	if err := json.Unmarshal(answer[:n], into); err != nil {
		return fmt.Errorf("DPDK's telemetry says %.100q: %w", answer[:n], err)
	}
	return nil
}

// transmitted is what port 0 has sent since it began.
func (t *telemetry) transmitted() (uint64, error) {
	const command = "/ethdev/stats,0"
	_ = t.conn.SetDeadline(time.Now().Add(telemetryPatience)) // else the next call tells
	if _, err := t.conn.Write([]byte(command)); err != nil {
		return 0, fmt.Errorf("asking DPDK for its counters: %w", err)
	}
	var answer struct {
		Stats *struct {
			Opackets *uint64 `json:"opackets"`
		} `json:"/ethdev/stats"`
	}
	if err := t.hear(&answer); err != nil {
		return 0, err
	}
	if answer.Stats == nil || answer.Stats.Opackets == nil {
		return 0, fmt.Errorf("DPDK's telemetry has no opackets for %q", command)
	}
	return *answer.Stats.Opackets, nil
}

func (t *telemetry) close() error { return t.conn.Close() }
