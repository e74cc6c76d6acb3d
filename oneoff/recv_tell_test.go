package oneoff

import (
	"context"
	"net"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// stopped is a terminal that shows that a receiver listens, and nothing after it.
type stopped struct {
	listens, goOn chan struct{}
}

func (s stopped) Listens(time.Time, string, []string)  { close(s.listens) }
func (s stopped) Deaf(time.Time, string, error)        {}
func (s stopped) Lacks(time.Time, string, error)       {}
func (s stopped) Event(time.Time, traffic.ServerEvent) { <-s.goOn }

// TestAStoppedTerminalHoldsNoSenderUp, nor a receiver that is to end.
func TestAStoppedTerminalHoldsNoSenderUp(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket.Close() // its port is free
	port := socket.Addr().(*net.TCPAddr).Port
	show := stopped{listens: make(chan struct{}), goOn: make(chan struct{})}
	defer close(show.goOn)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Recv(ctx, RecvConfig{Native: Native{Port: port}, Only: []string{"native"},
			Server: traffic.ServerConfig{Host: "127.0.0.1", MaxClients: 1}}, show)
	}()
	select {
	case <-show.listens:
	case err := <-ended:
		t.Fatal(err)
	}
	for range 2 {
		_, err := Send(within(t, 10*time.Second), SendConfig{Host: "127.0.0.1", Port: port, Kind: "datagram", Load: result.Options{"packets": 1000.0},
			Window: 200 * time.Millisecond, Interval: 100 * time.Millisecond}, Show{})
		if err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the receiver does not end")
	}
}

// TestIntervalsAreLeftOutFirst: what is told to nobody has its bound, and room for what matters.
func TestIntervalsAreLeftOutFirst(t *testing.T) {
	told, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	l := newTeller(nil)
	l.tell(func(RecvShow, time.Time) { close(told); <-goOn })
	<-told
	nothing := func(RecvShow, time.Time) {}
	for range 2 * waitingNews {
		l.minor(nothing)
	}
	if n := l.relay.Waiting(); n != waitingNews/2 {
		t.Errorf("%d intervals wait", n)
	}
	for range 2 * waitingNews {
		l.tell(nothing)
	}
	if n := l.relay.Waiting(); n != waitingNews {
		t.Errorf("%d wait", n)
	}
}
