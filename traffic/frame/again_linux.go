package frame

import "time"

// again does something every so often, until that is over, or free is called, which waits for what is under way, and has to be called once.
func again(every time.Duration, do func() (over bool)) (free func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		next := time.NewTicker(every)
		defer next.Stop()
		for {
			select {
			case <-done:
				return
			case <-next.C:
			}
			if do() {
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
