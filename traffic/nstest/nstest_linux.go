// Package nstest is for tests that want a network of their own.
package nstest

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Inside runs a part of a test on a thread with a network namespace of its own, which ends with it; its loopback is down. The part may not
// end the test (t.Fatal), as it is in a goroutine of its own.
func Inside(t testing.TB, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (network namespaces)")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		do()
	}()
	<-done
}
