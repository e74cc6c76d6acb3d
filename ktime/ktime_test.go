//go:build linux

package ktime

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain lets this program tell the time in another namespace.
func TestMain(m *testing.M) {
	if os.Getenv("KTIME_TEST_AS") == "clock" {
		fmt.Println(int64(Open().Now()), int64(Open().Moved()), int64(BootMoved()))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestTheKernelsTimeIsTheSameEverywhere: a process whose clocks are moved by days has the kernel's as any other.
func TestTheKernelsTimeIsTheSameEverywhere(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	moved := exec.Command("unshare", "--map-root-user", "-T", "--monotonic", "864000", "--boottime", "950400", "--fork", self)
	moved.Env = append(os.Environ(), "KTIME_TEST_AS=clock")
	before := Open().Now()
	said, err := moved.Output()
	after := Open().Now()
	if err != nil {
		t.Skipf("skip: a time namespace cannot be made here: %v", err)
	}
	var now, by, boot time.Duration
	if _, err := fmt.Sscan(string(said), &now, &by, &boot); err != nil {
		t.Fatalf("%q: %v", said, err)
	}
	mine := Open().Moved() // this process may be in such a namespace, too
	if now < before || now > after || mine == 0 && (by != 240*time.Hour || boot != 264*time.Hour) {
		t.Errorf("it is %s there, and was %s and %s here; its clocks are moved by %s and %s", now, before, after, by, boot)
	}
}
