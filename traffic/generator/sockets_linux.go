package generator

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// lookEvery is how often a port is looked for.
const lookEvery = 2 * time.Millisecond

// socketRow is one socket of /proc/net/tcp or udp (proc_net_tcp(5)).
type socketRow struct {
	port   int
	state  string
	fields []string
}

// socketRows are the sockets of this network namespace.
func socketRows(table string) ([]socketRow, error) {
	text, err := os.ReadFile("/proc/self/net/" + table)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // no IPv6
	}
	if err != nil {
		return nil, fmt.Errorf("reading the sockets: %w", err)
	}
	var rows []socketRow
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasSuffix(fields[0], ":") {
			continue // the heading
		}
		at := strings.LastIndex(fields[1], ":")
		port, err := strconv.ParseUint(fields[1][at+1:], 16, 16)
		if err != nil {
			return nil, fmt.Errorf("a socket's local address %q: %w", fields[1], err)
		}
		rows = append(rows, socketRow{int(port), fields[3], fields})
	}
	return rows, nil
}

// awaitPort waits until a receiver's program has its first port: it does not say when.
// A connection that tried would be taken for a test.
func awaitPort(p *process, t task, patience time.Duration) error {
	listens := map[string]string{"tcp": "0A", "tcp6": "0A"} // TCP_LISTEN in include/net/tcp_states.h
	if t.kind == "ping" && t.load.Text("protocol") == "udp" {
		listens = map[string]string{"udp": "07", "udp6": "07"} // TCP_CLOSE: not connected
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	over := time.After(patience)
	for {
		for table, state := range listens {
			rows, err := socketRows(table)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if row.port == t.port && row.state == state {
					return nil
				}
			}
		}
		select {
		case <-ticker.C:
		case <-p.ended:
			return errors.Join(errors.New("it ended before it listened"), p.result())
		case <-over:
			return fmt.Errorf("it does not listen on port %d after %s", t.port, patience)
		}
	}
}
