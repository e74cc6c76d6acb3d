package agent

import (
	"context"
	"fmt"
	"time"
)

// heartbeatLimit is after how long without a word of the conductor's an agent takes everything away.
const heartbeatLimit = 5 * time.Second

func sleepUntil(ctx context.Context, when time.Time) error {
	timer := time.NewTimer(time.Until(when))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the window: %w", context.Cause(ctx))
	}
}
