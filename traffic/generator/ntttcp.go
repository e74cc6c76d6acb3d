package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"windtunnel/result"
)

// ntttcp is Microsoft's ntttcp-for-linux. Each of its ends writes a JSON file of its own.
type ntttcp struct{}

func (ntttcp) name() string { return "ntttcp" }
func (ntttcp) install() string {
	return "no distribution has it: build github.com/microsoft/ntttcp-for-linux (make -C src) and put ntttcp into a folder of PATH"
}

// ntttcpPorts is how many ports its receiver listens on at most (MAX_NUM_SERVER_PORTS).
const ntttcpPorts = 512

func (ntttcp) able(kind string) (ability, bool) {
	check := func(load result.Options) error {
		if n := (task{load: load}).streams(); n > ntttcpPorts {
			return fmt.Errorf("ntttcp has at most %d ports, not %d", ntttcpPorts, n)
		}
		return nil
	}
	switch kind {
	case "stream":
		return ability{takes: []string{"message", "streams", "nodelay"}, kernel: true, check: check}, true
	case "datagram": // nothing numbers them
		return ability{
			takes: []string{"message", "flows"}, check: check,
			does: map[string][]string{"segmentation": {"off"}, "aggregation": {"off"}, "verify": {"header"}, "priority": {"kept"}},
		}, true
	}
	return ability{}, false
}

// both is what the ends are told alike. Its port to agree on a test is the one below.
func (ntttcp) both(t task, role string) []string {
	args := []string{"ntttcp", role, "-m", fmt.Sprintf("%d,*,%s", t.streams(), t.host), "-p", t.data(),
		"-W", strconv.Itoa(int(t.warmUp.Seconds())), "-t", strconv.Itoa(int(t.window.Seconds())), "-j", logFile}
	if t.kind == "datagram" {
		args = append(args, "-u")
	}
	return args
}

func (n ntttcp) server(t task) []string { return n.both(t, "-r") }

func (n ntttcp) client(t task) []string {
	args := append(n.both(t, "-s"), "-n", "1", "-l", "1", "-b", strconv.FormatInt(t.load.Int("message"), 10))
	if t.load.Bool("nodelay") {
		args = append(args, "--no-delay")
	}
	return args
}

// ready refuses times that it cannot keep.
func (ntttcp) ready(t task) error {
	if t.warmUp%time.Second != 0 || t.window%time.Second != 0 {
		return fmt.Errorf("ntttcp counts whole seconds, and the trial has %s of warm-up and a window of %s: take --window 1s, 2s or more", t.warmUp, t.window)
	}
	return nil
}

// ntttcpJSON is what is read of its file; numbers are texts in it.
type ntttcpJSON struct {
	Sender   *ntttcpEnd `json:"ntttcps"`
	Receiver *ntttcpEnd `json:"ntttcpr"`
}

type ntttcpEnd struct {
	TotalBytes ntttcpFigure `json:"totalBytes"`
	RealTime   ntttcpFigure `json:"realTime"`
}

type ntttcpFigure struct {
	Metric string `json:"metric"`
	Value  string `json:"value"`
}

// in reads a figure in the unit in which it has to be.
func (f ntttcpFigure) in(metric string) (float64, error) {
	if f.Metric != metric {
		return 0, fmt.Errorf("its unit is %.20q, not %s", f.Metric, metric)
	}
	return number(f.Value)
}

func (ntttcp) read(t task, receives bool, said output) (result.PairEnd, error) {
	var printed ntttcpJSON
	if err := json.Unmarshal([]byte(said.log), &printed); err != nil {
		return result.PairEnd{}, fmt.Errorf("what it wrote is not its JSON: %w", err)
	}
	end := printed.Sender
	if receives {
		end = printed.Receiver
	}
	if end == nil {
		return result.PairEnd{}, errors.New("its JSON is not of this end")
	}
	megabytes, err := end.TotalBytes.in("MB") // of 10^6 bytes, to the byte
	if err != nil {
		return result.PairEnd{}, fmt.Errorf("its total: %w", err)
	}
	took, err := end.RealTime.in("s")
	if err != nil {
		return result.PairEnd{}, fmt.Errorf("its time: %w", err)
	}
	if megabytes > 1e12 || took > 1e6 {
		return result.PairEnd{}, fmt.Errorf("%g MB in %g s are impossible", megabytes, took)
	}
	read := result.PairEnd{WindowSeconds: took, Bytes: uint64(math.Round(megabytes * 1e6))}
	if t.kind == "datagram" {
		read.Packets = read.Bytes / uint64(max(1, t.load.Int("message")))
	}
	return read, nil
}

var ntttcpVersion = regexp.MustCompile(`NTTTCP for Linux ([0-9][0-9.]*)`)

func (ntttcp) version(said output) string {
	if found := ntttcpVersion.FindStringSubmatch(said.out); found != nil {
		return found[1]
	}
	return ""
}
