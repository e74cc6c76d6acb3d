package netns

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestForgottenTrialsAreRemoved: folders of trials that were killed go with a later trial, and no other ones.
func TestForgottenTrialsAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder := func(name string, inside ...string) string {
		dir := filepath.Join(os.TempDir(), name)
		for _, below := range append(inside, "") {
			if err := os.MkdirAll(filepath.Join(dir, below), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	now := time.Now()
	long := now.Add(2 * forgotten)
	gone, used, others := folder(trialFolder+"1", "sys"), folder(trialFolder+"2", "sys/class"), folder("windtunnel-run", "sys")
	if removeForgotten(now); !there(gone) {
		t.Error("the folder of a trial that may run was removed")
	}
	if removeForgotten(long); there(gone) || !there(used) || !there(others) {
		t.Errorf("%s is there: %v, %s: %v, %s: %v", gone, there(gone), used, there(used), others, there(others))
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
