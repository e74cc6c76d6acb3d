//go:build linux

package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOneLeaseAtATime(t *testing.T) {
	root := t.TempDir()
	first, err := Acquire(root, "suite-x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Acquire(root, "suite-y")
	want := fmt.Sprintf("taken by process %d (suite-x)", os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if said, err := Clean(root); err != nil || len(said) != 1 || !strings.Contains(said[0], "left alone") {
		t.Errorf("clean took a living lease: %v, %v", said, err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Acquire(root, "suite-z")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestCleanEndsOrphans leaves what a killed agent would: a folder whose owner is
// gone, and a process that its journal names.
func TestCleanEndsOrphans(t *testing.T) {
	root := t.TempDir()
	orphan := exec.Command("sleep", "60")
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	dir := filepath.Join(root, "lease-1-1")
	notes, err := openJournal(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := notes.note(orphan.Process.Pid, "worker B/sender"); err != nil {
		t.Fatal(err)
	}
	notes.close()
	lease := `{"owner":{"pid":1,"start":"not this one"}}`
	if err := os.WriteFile(filepath.Join(dir, "lease.json"), []byte(lease), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := Clean(root)
	if err != nil || len(said) != 2 {
		t.Errorf("clean said %q, %v", said, err)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		orphan.Process.Kill()
		t.Error("the orphan lives")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the lease's folder is still there")
	}
}

func TestAReusedProcessIDIsNotKilled(t *testing.T) {
	p, err := ThisProcess(os.Getpid(), "me")
	if err != nil || !p.Lives() {
		t.Fatalf("%+v %v", p, err)
	}
	p.Start += "1"
	if p.Lives() {
		t.Error("another start time is another process")
	}
}

// TestALeaseInTheMakingIsLeftAlone: its folder is there, its file not yet.
func TestALeaseInTheMakingIsLeftAlone(t *testing.T) {
	root := t.TempDir()
	me, err := ThisProcess(os.Getpid(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, fmt.Sprintf(leaseName, me.PID, me.Start)), 0o700); err != nil {
		t.Fatal(err)
	}
	if said, err := Clean(root); err != nil || len(said) != 1 || !strings.Contains(said[0], "left alone") {
		t.Errorf("clean said %q, %v", said, err)
	}
}

// TestAFolderThatIsNotEmptyIsRefused: an agent removes its folder at the end.
func TestAFolderThatIsNotEmptyIsRefused(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := ServeNode(context.Background(), strings.NewReader(""), io.Discard, NodeConfig{Name: "a", CPUs: nil, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error("a file that was there before is gone")
	}
}
