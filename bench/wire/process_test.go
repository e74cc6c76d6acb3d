package wire

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leaseHolder makes the test's program one that starts another one with a lease, says its number, and waits
// to be killed.
const leaseHolder = "WIRE_TEST_HOLDS_A_LEASE"

func TestMain(m *testing.M) {
	if os.Getenv(leaseHolder) == "" {
		os.Exit(m.Run())
	}
	leased := exec.Command("cat")
	if err := StartLeased(leased); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(leased.Process.Pid)
	select {}
}

// TestLeaseEndsWithItsHolder: a benchmark that is killed leaves no program.
func TestLeaseEndsWithItsHolder(t *testing.T) {
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), leaseHolder+"=yes")
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	for deadline := time.Now().Add(10 * time.Second); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on without its holder", pid)
		}
	}
}
