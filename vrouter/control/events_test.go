package control

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeed: a subscription that ends is begun anew, with a sign for what was missed, also where the first
// try fails; none stays open behind another, and all end with the context.
func TestHeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var open, signs atomic.Int32
		begun := 0
		listen := heed(ctx, func(updates chan<- int, done <-chan struct{}) error {
			begun++
			overrun := begun == 2 // it ends, but for its socket
			if begun == 1 {
				return errors.New("none yet")
			}
			open.Add(1)
			go func() {
				updates <- 1
				if overrun {
					close(updates)
				}
				<-done
				if open.Add(-1); !overrun {
					close(updates)
				}
			}()
			return nil
		}, func() { signs.Add(1) })
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			listen()
		}()
		time.Sleep(2*askAgain + 1) // of the test's own clock
		synctest.Wait()
		if open.Load() != 1 || signs.Load() != 4 {
			t.Errorf("%d subscriptions are open, there were %d signs", open.Load(), signs.Load())
		}
		cancel()
		<-ended
		synctest.Wait()
		if open.Load() != 0 {
			t.Errorf("%d subscriptions stay open", open.Load())
		}
	})
}
