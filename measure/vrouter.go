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
}

// switchKinds are the readers of counters, by a switch's kind.
var switchKinds = map[string]func(socket string) (switchReading, error){
	"vrouter": readVRouter,
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
	return switchReading{s.Received.Packets, s.Forwarded.Packets + s.Passed.Packets + s.Answered.Packets, s.Drops}, nil
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
	for reason, n := range after.value.drops {
		if n = d.of(before.value.drops[reason], n); n > 0 {
			if s.Drops == nil {
				s.Drops = map[string]uint64{}
			}
			s.Drops[reason] = n
		}
	}
	return s, d.err
}
