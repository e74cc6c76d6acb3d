package wire

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRenice: a priority changes from what it is, as nice(1) changes it.
func TestRenice(t *testing.T) {
	values := make(chan string)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		for _, nice := range []int{0, 1, 2} {
			if err := renice(nice); err != nil {
				values <- err.Error()
				return
			}
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", unix.Gettid()))
		if err != nil {
			values <- err.Error()
			return
		}
		_, fields, _ := strings.Cut(string(stat), ") ")
		values <- strings.Fields(fields)[16] // nice: proc_pid_stat(5)
	}()
	is, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := <-values, fmt.Sprint(min(20-is+3, 19)); got != want {
		t.Errorf("the nice value is %s, not %s", got, want)
	}
}
