// Package filetest is for tests of what listens while its process may open no more files.
package filetest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Alone runs the calling test again, in a process of its own, whose limit of files may be lowered, and fails with it. It tells whether
// this is that process.
func Alone(t *testing.T) bool {
	t.Helper()
	const asked = "WINDTUNNEL_TEST_HAS_ALL_FILES"
	if os.Getenv(asked) != "" {
		return true
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
	c.Env = append(os.Environ(), asked+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}

// most is how many files the process may have, which is more than a test has open.
const most = 64

// Exhaust lowers the process' limit and opens all files that are left; giveBack closes them.
func Exhaust(t *testing.T) (giveBack func()) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		t.Fatal(err)
	}
	var taken []int
	for range 100 { // what listens takes one for a moment whenever it looks for a connection
		for fd, err := syscall.Dup(1); err == nil; fd, err = syscall.Dup(1) {
			taken = append(taken, fd)
		}
	}
	return func() {
		for _, fd := range taken {
			syscall.Close(fd)
		}
	}
}
