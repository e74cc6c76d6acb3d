package ntttcp

import (
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/traffic"
)

// counter is an engine of one flow that has so many bytes; each reading is told.
type counter struct {
	bytes atomic.Uint64
	seen  chan struct{}
}

func (*counter) Start()                {}
func (*counter) Done() <-chan struct{} { return nil }
func (*counter) Halt()                 {}
func (*counter) Close()                {}
func (*counter) Err() error            { return nil }

func (c *counter) read() reading {
	select {
	case c.seen <- struct{}{}:
	default:
	}
	return reading{flows: []flow{{bytes: c.bytes.Load(), calls: 1}}}
}

// TestWhatASenderStillHadIsBehindTheWindow: a sender hands its kernel megabytes that a slow path takes seconds for.
func TestWhatASenderStillHadIsBehindTheWindow(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	s.began, s.total = time.Now().Add(-2*time.Second), 2*time.Second
	engine := &counter{seen: make(chan struct{})}
	engine.bytes.Store(1000)
	s.fleet.crews = []crew{{engine: engine, threads: []int{0}, hot: 1}}
	followed := make(chan struct{})
	go func() { defer close(followed); h.follow(t.Context(), s) }()
	for range 4 { // at the beginning, at the window's end, and twice behind it
		<-engine.seen
	}
	engine.bytes.Store(9000)
	close(s.over)
	<-followed
	if end := s.end(time.Now()); end.Bytes != 1000 || end.WindowSeconds != 2 {
		t.Errorf("%d bytes in %g s, of 1000 in the 2 s agreed on", end.Bytes, end.WindowSeconds)
	}
}

// TestDatagramsUnderWayLengthenTheWindow, in which they are counted.
func TestDatagramsUnderWayLengthenTheWindow(t *testing.T) {
	s := newHall(Server{Count: 8}, traffic.ServerConfig{}).called()
	s.total = 2 * time.Second
	s.flood.add(0, 1000, s.began.Add(3*time.Second))
	if end := s.end(s.began.Add(4 * time.Second)); end.Bytes != 1000 || end.WindowSeconds != 3 {
		t.Errorf("%d bytes in %g s, of 1000 in 3 s", end.Bytes, end.WindowSeconds)
	}
}
