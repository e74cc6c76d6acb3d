package peers

import (
	"context"
	"strings"
	"testing"

	"windtunnel/bench/wire"
	"windtunnel/result"
)

func TestEveryToolIsAskedForWhatItCan(t *testing.T) {
	works := map[string]Work{
		"bytes": {What: Bytes, Message: 1390}, "no delay": {What: Bytes, Message: 1390, NoDelay: true}, "zero copy": {What: Bytes, Message: 128 << 10, ZeroCopy: true},
		"datagrams": {What: Datagrams, Message: 1400}, "TCP": {What: TCPTransactions, Message: 1}, "UDP": {What: UDPTransactions, Message: 1}, "frames": {What: Frames},
	}
	iperf3 := func(w Work, seconds int) (Commands, bool) {
		return iperf3Commands("iperf3", "--zerocopy --no-delay", w, seconds)
	}
	cases := map[string]struct {
		commands func(Work, int) (Commands, bool)
		able     string
	}{
		"iperf3":   {iperf3, "bytes, no delay, zero copy, datagrams"},
		"nuttcp":   {nuttcpCommands, "bytes, no delay, datagrams"},
		"sockperf": {sockperfCommands, "datagrams, TCP, UDP"},
		"netperf":  {netperfCommands, "bytes, no delay, zero copy, datagrams, TCP, UDP"},
		"neper":    {neperCommands, "bytes, no delay, zero copy, datagrams, TCP, UDP"},
		"ntttcp":   {ntttcpCommands, "bytes, no delay, datagrams"},
	}
	for tool, c := range cases {
		for name, work := range works {
			got, able := c.commands(work, 4)
			if want := strings.Contains(", "+c.able+",", ", "+name+","); able != want {
				t.Errorf("%s for %s: %v, want %v", tool, name, able, want)
			}
			if able && (len(got.Server) == 0 || got.Ready == nil || !strings.Contains(strings.Join(got.Client, " "), wire.B.Address)) {
				t.Errorf("%s for %s: %+v", tool, name, got)
			}
		}
	}
}

func TestOptionsAreGivenToWhoKnowsThem(t *testing.T) {
	work := Work{What: Bytes, Message: 1 << 17, ZeroCopy: true}
	for help, want := range map[string]bool{"--zerocopy": false, "--zerocopy --skip-rx-copy": true} {
		c, _ := iperf3Commands("iperf3", help, work, 4)
		if got := strings.Contains(strings.Join(c.Client, " "), "--skip-rx-copy"); got != want {
			t.Errorf("help %q: %v", help, c.Client)
		}
	}
}

func TestCounting(t *testing.T) {
	var sample wire.Sample
	sample.Receiver.WindowSeconds = 2
	sample.ReceivedTCP, sample.ReceivedUDP, sample.DroppedUDP = 2800, 100, 25
	sample.Receiver.Stacks = []result.StackSample{{InPackets: 2, InBytes: 2*28 + 50*1400}}
	cases := map[string]struct {
		work     Work
		commands Commands
		want     float64
	}{
		"bytes":            {Work{What: Bytes, Message: 1 << 17}, Commands{}, 1400},
		"TCP requests":     {Work{What: TCPTransactions, Message: 1}, Commands{Message: 14}, 100},
		"UDP requests":     {Work{What: UDPTransactions, Message: 1}, Commands{}, 50},
		"datagrams":        {Work{What: Datagrams, Message: 1400}, Commands{}, 50},
		"aggregated by IP": {Work{What: Datagrams, Message: 1400}, Commands{Aggregates: true}, 20},
	}
	for name, c := range cases {
		if got := c.work.Count(sample, c.commands); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

func TestNamesHaveTheVersion(t *testing.T) {
	for said, want := range map[string]string{
		"iperf 3.12 (cJSON 1.7.15)\nLinux 6.18": "x 3.12", "nuttcp-6.1.2": "x 6.1.2", "sockperf, version 3.7-no.git": "x 3.7",
		"NTTTCP for Linux 1.4.3": "x 1.4.3",
	} {
		if got, err := named(context.Background(), "x", "printf", "%s", said); err != nil || got != want {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
	if got, err := named(context.Background(), "x", "printf", "none"); err == nil {
		t.Errorf("no version: %q", got)
	}
}
