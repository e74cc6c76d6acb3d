package lobby

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestFewAreUnderWay: a thousand requests to connect that leave at once are more than the ring of a virtual pair holds, 256 packets, and each
// that it drops is sent again after a second, and then with as many others.
func TestFewAreUnderWay(t *testing.T) {
	var begun atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	conns, err := Dial(ctx, fmt.Sprintf("127.0.0.1:%d", crowded(t)), 1024, func(string, string, syscall.RawConn) error { begun.Add(1); return nil })
	for _, c := range conns {
		c.Close()
	}
	if n := int(begun.Load()); err == nil || n > mostUnderWay+len(conns) {
		t.Errorf("%d were under way, and %d connected, %v", n, len(conns), err)
	}
}
