package agent

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// talk starts a worker on pipes and greets it.
func talk(t *testing.T) *peer {
	t.Helper()
	return greeted(t, "worker", func(in io.Reader, out io.Writer) error {
		return ServeWorker(context.Background(), in, out, "test", nil)
	})
}

// greeted has somebody serve on pipes until the test ends, and greets them.
func greeted(t *testing.T, who string, serve func(in io.Reader, out io.Writer) error) *peer {
	t.Helper()
	toThem, fromUs := io.Pipe()
	toUs, fromThem := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- serve(toThem, fromThem)
		fromThem.Close()
	}()
	p, err := connect(toUs, fromUs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fromUs.Close()
		if err := <-served; err != nil {
			t.Errorf("the %s ended with %v", who, err)
		}
	})
	return p
}

func ask(t *testing.T, p *peer, r proto.Request) proto.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := p.ask(ctx, r)
	if err != nil {
		t.Fatalf("%s: %v", r.Do, err)
	}
	return reply
}

// Reno is what every kernel has and every user may take.
var load = result.Options{"message": 65536.0, "streams": 1.0, "threads": 1.0, "congestion": "reno"}

func order(role traffic.Role, address string) *traffic.Order {
	return &traffic.Order{Role: role, Kind: "stream", Load: load, Address: address}
}

func TestTrialBetweenTwoWorkers(t *testing.T) {
	receiver, sender := talk(t), talk(t)
	address := ask(t, receiver, proto.Request{Do: proto.DoPrepare, Pair: 3, Place: "r", Order: order(traffic.Receive, "127.0.0.1")}).Address
	ask(t, sender, proto.Request{Do: proto.DoPrepare, Pair: 3, Place: "s", Order: order(traffic.Send, address)})
	start := proto.Start{InSeconds: 0.02, WarmUpSeconds: 0.05, WindowSeconds: 0.2}
	for _, p := range []*peer{receiver, sender} {
		ask(t, p, proto.Request{Do: proto.DoStart, Start: &start})
	}
	for _, p := range []*peer{receiver, sender} {
		ends := ask(t, p, proto.Request{Do: proto.DoResult}).Ends
		if len(ends) != 1 || ends[0].Error != "" || ends[0].Pair != 3 || ends[0].End.Bytes == 0 {
			t.Errorf("ends %+v", ends)
		}
	}
}

func TestStopEndsARunningTrial(t *testing.T) {
	receiver := talk(t)
	sender := talk(t)
	address := ask(t, receiver, proto.Request{Do: proto.DoPrepare, Order: order(traffic.Receive, "127.0.0.1")}).Address
	ask(t, sender, proto.Request{Do: proto.DoPrepare, Order: order(traffic.Send, address)})
	start := proto.Start{WindowSeconds: 60}
	for _, p := range []*peer{receiver, sender} {
		ask(t, p, proto.Request{Do: proto.DoStart, Start: &start})
	}
	for _, p := range []*peer{receiver, sender} {
		ask(t, p, proto.Request{Do: proto.DoStop})
	}
}

func TestProbePassesOverLoopback(t *testing.T) {
	p := talk(t)
	address := ask(t, p, proto.Request{Do: proto.DoProbe, Probe: &proto.Probe{Role: traffic.Receive, Address: "127.0.0.1"}}).Address
	ask(t, p, proto.Request{Do: proto.DoProbe, Probe: &proto.Probe{Role: traffic.Send, Address: address, MTU: 1500}})
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		ask  proto.Request
		says string
	}{
		"unknown verb":      {proto.Request{Do: "dance"}, `does not know "dance"`},
		"no order":          {proto.Request{Do: proto.DoPrepare}, "needs an order"},
		"unknown kind":      {proto.Request{Do: proto.DoPrepare, Order: &traffic.Order{Kind: "x"}}, `no traffic of kind "x"`},
		"nothing prepared":  {proto.Request{Do: proto.DoStart, Start: &proto.Start{}}, "nothing is prepared"},
		"nothing started":   {proto.Request{Do: proto.DoResult}, "no trial was started"},
		"nobody listens":    {proto.Request{Do: proto.DoPrepare, Order: order(traffic.Send, "127.0.0.1:1")}, "preparing to send"},
		"probe to nobody":   {proto.Request{Do: proto.DoProbe, Probe: &proto.Probe{Role: traffic.Send, Address: "127.0.0.1:1", MTU: 1500}}, "TCP does not pass"},
		"start without any": {proto.Request{Do: proto.DoStart}, "needs its times"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := talk(t).ask(context.Background(), c.ask)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want something with %q", err, c.says)
			}
		})
	}
}

func TestHostileLines(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"not JSON":    {"hello\n", "not a request"},
		"wrong types": {`{"id":"x"}` + "\n", "not a request"},
		"empty lines": {"\n\n{\"do\":\"x\"}\n", "does not know"},
		"cut off":     {`{"do":`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := ServeWorker(context.Background(), strings.NewReader(c.text), &out, "test", nil); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.says) {
				t.Errorf("it answered %s", out.String())
			}
		})
	}
}

func TestTooLongLineEndsTheStream(t *testing.T) {
	endless := io.LimitReader(zeros{}, 2*proto.MaxMessage)
	err := ServeWorker(context.Background(), endless, io.Discard, "test", nil)
	if !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestAnotherVersionIsRefused(t *testing.T) {
	_, err := connect(strings.NewReader(`{"windtunnel":99,"role":"node"}`+"\n"), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("got %v", err)
	}
}

// TestAWorkerOutsideOfAMachine settles nothing: the interfaces there are not its own.
func TestAWorkerOutsideOfAMachine(t *testing.T) {
	w := &worker{}
	for _, do := range []string{proto.DoSettle, proto.DoVerify} {
		if reply := w.handle(context.Background(), proto.Request{Do: do}); !strings.Contains(reply.Error, "in no virtual machine") {
			t.Errorf("%s: %+v", do, reply)
		}
	}
}

// settled is a machine that only notes what is asked of it.
type settled struct{ did []string }

func (s *settled) settle(_ context.Context, all []testbed.Interface, _ *testbed.GuestContainer) error {
	s.did = append(s.did, "settled "+all[0].Device)
	return nil
}

func (s *settled) verify(_ context.Context, all []testbed.Interface, _ *testbed.GuestContainer) error {
	return errors.New(all[0].Device + " is down")
}

func (s *settled) sample(context.Context, time.Time, time.Time) (result.NodeSample, error) {
	return result.NodeSample{Interrupts: 7}, nil
}

// TestAWorkerInAMachine settles its interfaces, says what is wrong with them, and tells what the machine saw.
func TestAWorkerInAMachine(t *testing.T) {
	m := &settled{}
	w := &worker{machine: m}
	ctx := context.Background()
	eth0 := []testbed.Interface{{Device: "eth0"}}
	if reply := w.handle(ctx, proto.Request{Do: proto.DoSettle, Interfaces: eth0}); reply.Error != "" || len(m.did) != 1 {
		t.Errorf("%+v, %v", reply, m.did)
	}
	if reply := w.handle(ctx, proto.Request{Do: proto.DoVerify, Interfaces: eth0}); reply.Error != "eth0 is down" {
		t.Errorf("%+v", reply)
	}
	prepared := w.handle(ctx, proto.Request{Do: proto.DoPrepare, Order: order(traffic.Receive, "127.0.0.1")})
	if prepared.Error != "" {
		t.Fatal(prepared.Error)
	}
	w.handle(ctx, proto.Request{Do: proto.DoStart, Start: &proto.Start{WindowSeconds: 0.01}})
	if reply := w.handle(ctx, proto.Request{Do: proto.DoResult}); reply.Machine == nil || reply.Machine.Interrupts != 7 {
		t.Errorf("%+v", reply)
	}
}
