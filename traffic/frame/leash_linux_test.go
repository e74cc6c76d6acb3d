package frame

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"windtunnel/result"
)

const throttledVariable = "WINDTUNNEL_TEST_THROTTLED"

// TestASenderWithAQuotaEnds: a control group that has used up its CPU time stops whoever would end the call that sends, and since Linux 6.18
// not that call itself, which went on for minutes, and by which the group was then owed so much that not even a SIGKILL was heard.
func TestASenderWithAQuotaEnds(t *testing.T) {
	needsRoot(t)
	if os.Getenv(throttledVariable) != "" {
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil { // it is in its group
			t.Fatal(err)
		}
		l, err := result.Fill(Kind{}.Options(), result.Options{"threads": 2, "flows": 2})
		if err == nil {
			_, err = Kind{}.Calibrate(t.Context(), l, nil)
		}
		t.Log(err) // it may have had no CPU: what counts is that it ends
		return
	}
	group := smallQuota(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), throttledVariable+"=1")
	start, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(child.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	began, ended := time.Now(), make(chan error, 1)
	start.Write([]byte{'\n'})
	go func() { ended <- child.Wait() }()
	const most = 25 * time.Second // what a second of two CPUs owes, and as much again
	select {
	case err := <-ended:
		t.Logf("%v after %s", err, time.Since(began))
	case <-time.After(most):
		t.Errorf("a sender that was to take 0.3 s has not ended after %s", most)
		for name, value := range map[string]string{"cpu.cfs_quota_us": "-1", "cpu.max": "max"} {
			_ = os.WriteFile(filepath.Join(group, name), []byte(value), 0) // there is one of the two
		}
		child.Process.Kill()
		<-ended
	}
}

// smallQuota is a control group with a fifth of a CPU, which goes with the test.
func smallQuota(t *testing.T) (group string) {
	for _, way := range []struct{ root, quota, value string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000"},
		{"/sys/fs/cgroup", "cpu.max", "20000 100000"},
	} {
		group = filepath.Join(way.root, "windtunnel-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) })
		if os.WriteFile(filepath.Join(group, way.quota), []byte(way.value), 0) == nil {
			return group
		}
	}
	t.Skip("skip: no control group of this machine limits CPU time")
	return ""
}
