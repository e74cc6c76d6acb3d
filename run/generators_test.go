package run

import (
	"errors"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/scenario"
)

const foreignSuite = `
suite: s
asks: q
nodes: {a: {}, b: {}}
cells:
  ours: {path: wire, traffic: {kind: stream}, pairs: [{from: a, to: b}]}
  theirs: {like: ours, traffic: {generator: iperf3TRAFFIC}}
`

func foreignPlan(t *testing.T, traffic string, find func(string) error) (Plan, error) {
	t.Helper()
	spec, err := scenario.Parse([]byte(strings.Replace(foreignSuite, "TRAFFIC", traffic, 1)), "s.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	return MakePlan(spec, Host{CPUs: []int{0, 1}, Find: find}, Settings{Budget: time.Minute, Window: 2500 * time.Millisecond})
}

func TestAMissingGeneratorIsNotMeasured(t *testing.T) {
	p, err := foreignPlan(t, "", func(string) error { return errors.New("none") })
	if err != nil {
		t.Fatal(err)
	}
	if ours, theirs := p.Cells[0].Record.Skipped, p.Cells[1].Record.Skipped; ours != "" || !strings.Contains(theirs, "needs the program iperf3") || !strings.Contains(theirs, "apt-get install iperf3") {
		t.Errorf("skipped: %q, %q", ours, theirs)
	}
	if p.Times.WindowSeconds != 2.5 {
		t.Errorf("a program that does not run changes the window: %g s", p.Times.WindowSeconds)
	}
}

func TestTimesOfProgramsAreWhole(t *testing.T) {
	p, err := foreignPlan(t, "", func(string) error { return nil })
	if err != nil || p.Cells[1].Record.Skipped != "" || p.Times.WindowSeconds != 2 || p.Times.WarmupSeconds != 1 {
		t.Errorf("%q, %+v, %v", p.Cells[1].Record.Skipped, p.Times, err)
	}
}

func TestWhatAGeneratorCannotExpressIsRefused(t *testing.T) {
	_, err := foreignPlan(t, ", discard: true", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "s.yaml:7:3: cell theirs: iperf3 cannot be told `discard: true`") {
		t.Errorf("got %v", err)
	}
}

func TestEnginesContainersHaveNoGenerator(t *testing.T) {
	spec, err := scenario.Parse([]byte(strings.NewReplacer("TRAFFIC", "", "path: wire", "path: host-network", "{from: a, to: b}", "{from: a, to: {container: c, on: b}}").Replace(foreignSuite)), "s.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	_, err = MakePlan(spec, Host{CPUs: []int{0, 1}}, Settings{Budget: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "cell theirs: an engine's containers have no iperf3") {
		t.Errorf("got %v", err)
	}
}

// TestTheReceiverHasWhatTheSenderTells beside what its own kernel counted.
func TestTheReceiverHasWhatTheSenderTells(t *testing.T) {
	sender := result.PairEnd{Bytes: 9, Told: &result.PairEnd{WindowSeconds: 1, Bytes: 7, Packets: 3, Arrived: &result.Arrived{Expected: 5, Lost: 2}}}
	receiver := result.PairEnd{CPUSeconds: 0.5, Arrived: &result.Arrived{SocketDrops: 9}}
	tell(&sender, &receiver)
	if sender.Told != nil || receiver.Bytes != 7 || receiver.Packets != 3 || receiver.WindowSeconds != 1 || receiver.CPUSeconds != 0.5 {
		t.Errorf("%+v, %+v", sender, receiver)
	}
	if a := receiver.Arrived; a.Lost != 2 || a.SocketDrops != 2 {
		t.Errorf("%+v", a)
	}
	sender.Told = &result.PairEnd{Bytes: 8}
	receiver.Error = "it died"
	if tell(&sender, &receiver); receiver.Bytes != 7 {
		t.Error("an end that failed got figures")
	}
}

func TestProgressShowsWhatTheRunIsAbout(t *testing.T) {
	end := result.PairEnd{WindowSeconds: 2, Bytes: 1e6, Packets: 1000}
	frames, asked := end, end
	frames.Frames = &result.Frames{}
	asked.Latencies = map[string]result.Histogram{result.LatencyActual: {Count: 1000}}
	for want, pair := range map[string]result.PairSample{
		"4 Mbit/s": {Sender: end, Receiver: end}, "500 packets/s": {Sender: end, Receiver: frames}, "500 requests/s": {Sender: asked, Receiver: end},
	} {
		if got := received(result.Trial{Pairs: []result.PairSample{pair}}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
