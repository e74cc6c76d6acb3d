//go:build !linux

package traffic

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stop asks hot threads to end: they look at it between their calls, and it wakes those that sleep until their next turn, so
// that an end takes no longer at a low rate. Its zero value asks for nothing. It must not be copied.
type Stop struct {
	asked atomic.Bool
	mu    sync.Mutex
	wake  chan struct{} // closed when it is asked; nil before somebody sleeps
}

// Load tells whether it was asked.
func (s *Stop) Load() bool { return s.asked.Load() }

// Ask asks, once and for all.
func (s *Stop) Ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.Swap(true) {
		return
	}
	if s.wake != nil {
		close(s.wake)
	}
}

// Sleep sleeps for so many ns, or until it is asked.
func (s *Stop) Sleep(ns int64) {
	s.mu.Lock()
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	wake := s.wake
	s.mu.Unlock()
	if s.Load() || ns <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	}
}
