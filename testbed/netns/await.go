package netns

import (
	"context"
	"time"
)

// pollInterval is how long await lets the kernel work between two looks.
const pollInterval = 2 * time.Millisecond

// await repeats look until it finds nothing wrong, and returns what was still
// wrong at the deadline.
func await(ctx context.Context, within time.Duration, look func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := look()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
