package measure

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"windtunnel/result"
)

const (
	// switchTimeout bounds the question to a switch, answer included.
	switchTimeout = 500 * time.Millisecond
	// maxSwitchAnswer bounds the answer, in bytes.
	maxSwitchAnswer = 1 << 20
)

// switchReading is what a switch has counted, in packets.
type switchReading struct {
	received, sent uint64
	drops          map[string]uint64
	counts         map[string]uint64 // what else it counts, by its words
	polling        *result.Polling   // nil: it does not poll
	at             time.Time         // of polling, where that has no hertz
}

// switchKinds are the readers of counters, by a switch's kind.
var switchKinds = map[string]func(socket string) (switchReading, error){
	"vrouter":      readVRouter,
	"vrouter-poll": readVRouterPoll,
	"openvswitch":  readOpenVSwitch,
}

func readSwitch(s Switch) (switchReading, error) {
	ask, ok := switchKinds[s.Kind]
	if !ok {
		return switchReading{}, fmt.Errorf("no probe reads a switch of kind %q", s.Kind)
	}
	return ask(s.Socket)
}

// vrouterStats is what the vRouter's socket answers to {"get":"stats"}, as far
// as it is needed (vrouter/control/PROTOCOL.md).
type vrouterStats struct {
	Error string
	Stats *struct {
		Received, Forwarded, Passed, Answered struct{ Packets uint64 }
		Drops                                 map[string]uint64
	}
}

func readVRouter(socket string) (switchReading, error) {
	line, err := ask(socket, `{"get":"stats"}`)
	if err != nil {
		return switchReading{}, fmt.Errorf("asking the vRouter: %w", err)
	}
	return parseVRouter(line)
}

func parseVRouter(line []byte) (switchReading, error) {
	var got vrouterStats
	if err := json.Unmarshal(line, &got); err != nil {
		return switchReading{}, fmt.Errorf("reading the vRouter's answer: %w", err)
	}
	if got.Error != "" || got.Stats == nil {
		return switchReading{}, fmt.Errorf("the vRouter gave no counters: %q", clip([]byte(got.Error)))
	}
	s := got.Stats
	return switchReading{received: s.Received.Packets, sent: s.Forwarded.Packets + s.Passed.Packets + s.Answered.Packets, drops: s.Drops}, nil
}

// vrouterStatus is what it answers to {"get":"status"} in poll mode.
type vrouterStatus struct {
	Status struct {
		Poll *struct {
			Cores []struct {
				Busy   uint64 `json:"busy_cycles"`
				Idle   uint64 `json:"idle_cycles"`
				Hertz  uint64
				Timed  uint64            `json:"timed_packets"`
				Stages map[string]uint64 `json:"stage_cycles"`
			}
		}
	}
}

// readVRouterPoll also reads what its cores spent. Their count is the first thing asked for, so that
// it ends with the window.
func readVRouterPoll(socket string) (switchReading, error) {
	line, err := ask(socket, `{"get":"status"}`)
	if err != nil {
		return switchReading{}, fmt.Errorf("asking the vRouter: %w", err)
	}
	cores, err := parseCores(line)
	if err != nil {
		return switchReading{}, err
	}
	r, err := readVRouter(socket)
	r.polling = cores
	return r, err
}

func parseCores(line []byte) (*result.Polling, error) {
	var got vrouterStatus
	if err := json.Unmarshal(line, &got); err != nil {
		return nil, fmt.Errorf("reading the vRouter's answer: %w", err)
	}
	if got.Status.Poll == nil || len(got.Status.Poll.Cores) == 0 {
		return nil, errors.New("the vRouter tells of no core that polls")
	}
	sum := &result.Polling{Stages: map[string]uint64{}}
	for _, c := range got.Status.Poll.Cores {
		sum.Cores++
		sum.Busy, sum.Idle, sum.Hertz = sum.Busy+c.Busy, sum.Idle+c.Idle, c.Hertz
		sum.Timed += c.Timed
		for stage, cycles := range c.Stages {
			sum.Stages[stage] += cycles
		}
	}
	return sum, nil
}

// ask sends a line to a Unix socket and returns the one that answers it.
func ask(socket, question string) ([]byte, error) {
	conn, err := net.DialTimeout("unix", socket, switchTimeout)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(switchTimeout))
	if _, err := io.WriteString(conn, question+"\n"); err != nil {
		return nil, err
	}
	r := bufio.NewReader(io.LimitReader(conn, maxSwitchAnswer))
	line, err := r.ReadBytes('\n')
	if err == io.EOF {
		return nil, errors.New("the answer is cut off")
	}
	return line, err
}

func switchBetween(name string, before, after reading[switchReading]) (result.SwitchSample, error) {
	s := result.SwitchSample{Switch: name}
	if err := firstError(before.err, after.err); err != nil {
		return s, err
	}
	var d difference
	s.Received = d.of(before.value.received, after.value.received)
	s.Sent = d.of(before.value.sent, after.value.sent)
	s.Drops = d.named(before.value.drops, after.value.drops)
	s.Counts = d.named(before.value.counts, after.value.counts)
	if was, is := before.value.polling, after.value.polling; was != nil && is != nil {
		s.Polling = &result.Polling{Cores: is.Cores, Busy: d.of(was.Busy, is.Busy), Idle: d.of(was.Idle, is.Idle), Hertz: is.Hertz,
			Timed: d.of(was.Timed, is.Timed), Stages: d.named(was.Stages, is.Stages)}
		if took := after.value.at.Sub(before.value.at); is.Hertz == 0 && took > 0 {
			// Each cycle of a core that polls is one or the other.
			s.Polling.Hertz = uint64(float64(s.Polling.Busy+s.Polling.Idle) / float64(is.Cores) / took.Seconds())
		}
	}
	return s, d.err
}

// named are the differences that are not zero; nil where all are.
func (d *difference) named(before, after map[string]uint64) map[string]uint64 {
	var all map[string]uint64
	for name, n := range after {
		if n = d.of(before[name], n); n > 0 {
			if all == nil {
				all = map[string]uint64{}
			}
			all[name] = n
		}
	}
	return all
}
