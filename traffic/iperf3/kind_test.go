package iperf3

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestServerEvents sees sessions as the events of a traffic.Server.
func TestServerEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var events []traffic.ServerEvent
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan []string, 1), make(chan error, 1)
	go func() {
		ended <- Server{Port: -1}.Serve(ctx, traffic.ServerConfig{
			Host: "127.0.0.1", MaxBytes: 1 << 30, MaxTime: 2 * time.Second, Ready: func(a []string) { ready <- a },
			Event: func(e traffic.ServerEvent) { mu.Lock(); events = append(events, e); mu.Unlock() },
		})
	}()
	_, port, _ := net.SplitHostPort((<-ready)[0])
	o := Options{Host: "127.0.0.1", Protocol: UDP, BitsPerSecond: 5e6, Duration: 1200 * time.Millisecond, Bidirectional: true}
	o.Port, _ = strconv.Atoi(port)
	if _, err := run(t, o); err != nil {
		t.Error(err)
	}
	o.Duration = 3 * time.Second
	if _, err := run(t, o); err == nil {
		t.Error("a test of 3 s was let in")
	}
	o.Duration, o.Bytes = 0, 2<<30
	if _, err := run(t, o); err == nil {
		t.Error("a test of 2 GiB was let in")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.What)
		if e.Protocol != "iperf3" || e.Client == "" {
			t.Errorf("%+v", e)
		}
		if e.What == traffic.SessionInterval && (e.Interval.Bytes == 0 || e.Interval.Packets == 0) {
			t.Errorf("%+v", e.Interval)
		}
		if p := e.End; e.What == traffic.SessionEnded && (p.Bytes == 0 || p.Arrived == nil || p.Arrived.Expected != p.Packets+p.Arrived.Lost+p.Arrived.Late || p.Opposite == nil || p.Opposite.Bytes == 0) {
			t.Errorf("%+v", e.End)
		}
		if e.What == traffic.SessionEnded {
			for way, p := range map[string]*result.PairEnd{"received": e.End, "sent": e.End.Opposite} {
				if p.Threads == 0 || p.CPUSeconds <= 0 || p.CPUSeconds > float64(p.Threads)*p.WindowSeconds || p.Calls == 0 || p.Calls > p.Packets {
					t.Errorf("%s: %+v", way, p)
				}
			}
		}
	}
	want := []string{traffic.SessionBegan, traffic.SessionInterval, traffic.SessionInterval, traffic.SessionEnded, traffic.SessionRefused, traffic.SessionRefused}
	if len(got) != len(want) {
		t.Fatalf("%v; want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v; want %v", got, want)
		}
	}
}
