package measure

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPacketThreadsAreToldByNameAndPlace(t *testing.T) {
	for name, want := range map[string]bool{
		"ksoftirqd/0": true, "ksoftirqd/1": false, "ksoftirqd/x": false, "ksoftirqd": false, "kworker/0:1": false, "bash": false,
	} {
		if isPacketThread(name, os.Getpid(), []int{0}) != want {
			t.Errorf("%s: not %v", name, want)
		}
	}
	if isPacketThread("napi/wire0-1", 1<<22, []int{0}) {
		t.Error("a thread that has ended belongs to the node")
	}
}

func TestPacketThreadsHaveClocks(t *testing.T) {
	found := findPacketThreads([]int{0})
	if found.err != nil {
		t.Skip("this PID namespace shows no kernel threads:", found.err)
	}
	before := readPacketThreads(found)
	after := readPacketThreads(found)
	if before.err != nil || after.err != nil || len(after.value) != len(found.value) || before.value.between(after.value) < 0 {
		t.Errorf("%+v, then %+v", before, after)
	}
	if gone := readPacketThreads(read(packetThreads{1 << 22}, nil)); gone.err == nil {
		t.Error("a thread that is not there has a clock")
	}
}

// TestThreadsComeAndGo: one that has ended between two readings, or whose id is another's by now, spoils none of the
// others.
func TestThreadsComeAndGo(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	times, err := packetThreads{os.Getpid(), ended.Process.Pid}.used()
	if err != nil || len(times) != 1 || times[os.Getpid()] == 0 {
		t.Errorf("%v, %v", times, err)
	}
	before, after := threadTimes{1: 5, 2: 7, 3: 9}, threadTimes{1: 8, 3: 2, 4: 100}
	if sum := before.between(after); sum != 3 {
		t.Errorf("the threads took %d in all, of which 3 is known", sum)
	}
}

// TestReceiveThreadsAreOfACPU: what a testbed's own threads took is a CPU's, unless one of them has ended.
func TestReceiveThreadsAreOfACPU(t *testing.T) {
	s := sampler{
		before: Snapshot{receivers: map[int]packetThreads{1: {10, 11}, 2: {12}}, receiving: read(threadTimes{10: 1e9, 11: 2e9, 12: 0}, nil)},
		after:  Snapshot{receiving: read(threadTimes{10: 2e9, 11: 2.5e9}, nil)},
	}
	if got := s.receiveSeconds(1); got == nil || *got != 1.5 {
		t.Errorf("CPU 1: %v", got)
	}
	if got := s.receiveSeconds(2); got != nil {
		t.Errorf("CPU 2, whose thread has ended: %g s", *got)
	}
	if got := s.receiveSeconds(0); got != nil {
		t.Errorf("CPU 0, which has none: %g s", *got)
	}
}

// TestReceiversByCPU: a thread that may run on several CPUs makes all of them untold.
func TestReceiversByCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var was, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		t.Fatal(err)
	}
	if was.Count() < 2 {
		t.Skip("skip: needs two CPUs")
	}
	tid := unix.Gettid()
	if by := receiversByCPU([]int{tid}); by != nil {
		t.Errorf("%v", by)
	}
	cpu := 0
	for !was.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(0, &was); err != nil {
			t.Error(err)
		}
	}()
	if by := receiversByCPU([]int{tid}); len(by) != 1 || !slices.Equal(by[cpu], packetThreads{tid}) {
		t.Errorf("%v", by)
	}
}
