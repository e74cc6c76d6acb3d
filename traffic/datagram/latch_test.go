package datagram

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestAStoppedWorldIsNoDeadlock: whoever reads the counters may be stopped with the
// whole program while it holds a thread's latch, and that waits for the thread. It
// runs in a process of its own, as a program that is stopped has no clock.
func TestAStoppedWorldIsNoDeadlock(t *testing.T) {
	if os.Getenv("STOP_THE_WORLD") == "" {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		again := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		again.Env = append(os.Environ(), "STOP_THE_WORLD=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v (%v):\n%s", err, ctx.Err(), out)
		}
		return
	}
	out, in := ends(t, "udp4", "127.0.0.1")
	c := Config{Message: 100, Codec: longHeader{testKey}, PacketsPerSecond: 200_000}
	receive := newEngine(t, c, Flow{Conn: in, Role: traffic.Receive})
	send := newEngine(t, c, Flow{Conn: out, Role: traffic.Send})
	receive.Start()
	send.Start()
	done := make(chan struct{})
	stop := time.Now().Add(3 * time.Second)
	go func() {
		defer close(done)
		for time.Now().Before(stop) {
			send.Lag()
			receive.Snapshot()
		}
	}()
	for procs := runtime.GOMAXPROCS(0); time.Now().Before(stop); {
		runtime.GOMAXPROCS(procs + 1)
		runtime.GOMAXPROCS(procs)
	}
	<-done
}
