package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"windtunnel/result"
)

// readOpenVSwitch asks the daemon of Open vSwitch at its control socket (ovs-appctl(8); lib/unixctl.c), what
// its threads spent first. It has no count of all packets that it sent.
func readOpenVSwitch(socket string) (switchReading, error) {
	conn, err := net.DialTimeout("unix", socket, switchTimeout)
	if err != nil {
		return switchReading{}, fmt.Errorf("asking Open vSwitch: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(switchTimeout))
	answers := json.NewDecoder(io.LimitReader(conn, maxSwitchAnswer))
	threads, err := unixctl(conn, answers, "dpif-netdev/pmd-stats-show")
	if err != nil {
		return switchReading{}, err
	}
	at := time.Now()
	ports, err := unixctl(conn, answers, "dpctl/show", "-s")
	if err != nil {
		return switchReading{}, err
	}
	r, err := parseThreads(threads)
	parsePorts(ports, r.drops)
	r.at = at
	return r, err
}

// unixctl asks one question: JSON-RPC 1.0 without a line's end.
func unixctl(conn io.Writer, answers *json.Decoder, method string, about ...string) (string, error) {
	question := map[string]any{"id": method, "method": method, "params": append([]string{}, about...)}
	if err := json.NewEncoder(conn).Encode(question); err != nil {
		return "", fmt.Errorf("asking Open vSwitch for %s: %w", method, err)
	}
	var answer struct {
		Result *string
		Error  any
	}
	if err := answers.Decode(&answer); err != nil {
		return "", fmt.Errorf("waiting for Open vSwitch's answer to %s: %w", method, err)
	}
	if answer.Result == nil {
		return "", fmt.Errorf("the daemon of Open vSwitch does not answer %s: %q", method, clip([]byte(fmt.Sprint(answer.Error))))
	}
	return *answer.Result, nil
}

// What its threads count of packets, and what it is called here. A look-up is answered by the exact-match
// cache, the signature-match cache, the megaflows, or by an upcall.
var threadCounts = map[string]string{
	"packets received": "packets", "packet recirculations": "recirculations",
	"emc hits": "exact matches", "smc hits": "signature matches", "megaflow hits": "megaflow matches",
	"miss with success upcall": "upcalls",
}

const failedUpcalls = "miss with failed upcall" // such a packet is dropped

// parseThreads reads the text of dpif-netdev/pmd-stats-show: all threads together, and the cycles of those
// that poll.
func parseThreads(text string) (switchReading, error) {
	r := switchReading{drops: map[string]uint64{}, counts: map[string]uint64{}}
	spent, polls, found := &result.Polling{}, false, false
	for line := range strings.Lines(text) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if pmd := strings.HasPrefix(key, "pmd thread"); pmd || key == "main thread" {
			polls, found = pmd, true
			if pmd {
				spent.Cores++
			}
		}
		n, ok := leading(rest)
		switch name := threadCounts[key]; {
		case !ok:
		case name != "":
			r.counts[name] += n
		case key == failedUpcalls:
			r.drops["failed upcalls"] += n
		case polls && key == "idle cycles":
			spent.Idle += n
		case polls && key == "processing cycles":
			spent.Busy += n
		}
	}
	if !found {
		return r, errors.New("the daemon of Open vSwitch tells of no thread")
	}
	if spent.Cores > 0 {
		r.polling = spent
	}
	return r, nil
}

// leading is the number that a text begins with.
func leading(text string) (uint64, bool) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(words[0], 10, 64)
	return n, err == nil
}

var (
	portLine   = regexp.MustCompile(`port \d+: (\S+) \((\w+)`) // where a port has no counters, the next one is on its line
	lostLine   = regexp.MustCompile(`^  lookups: .* lost:(\d+)`)
	portCounts = regexp.MustCompile(`^    (RX|TX) packets:\S+ errors:(\S+) dropped:(\S+)`)
)

// parsePorts reads the drops in the text of dpctl/show -s. Those of the kernel's devices are the links' own
// and counted there; a port that does not count says so by "?".
func parsePorts(text string, drops map[string]uint64) {
	port := ""
	add := func(name, count string) {
		if n, err := strconv.ParseUint(count, 10, 64); err == nil {
			drops[name] += n
		}
	}
	for line := range strings.Lines(text) {
		if m := portLine.FindStringSubmatch(line); m != nil {
			port = m[1]
			if m[2] != "dpdk" {
				port = ""
			}
		}
		if m := lostLine.FindStringSubmatch(line); m != nil {
			add("lost upcalls", m[1])
		}
		if m := portCounts.FindStringSubmatch(line); m != nil && port != "" {
			way := port + " " + strings.ToLower(m[1])
			add(way+" errors", m[2])
			add(way+" dropped", m[3])
		}
	}
}
