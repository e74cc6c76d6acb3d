//go:build unix

package result

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadRefusesWhatIsNoFile: a FIFO that nobody writes to would be waited for, and a device has no end.
func TestReadRefusesWhatIsNoFile(t *testing.T) {
	fifo, folder, link := t.TempDir(), t.TempDir(), t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(fifo, FileName), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(link, FileName)); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{fifo: "is a FIFO", filepath.Join(fifo, FileName): "is a FIFO", folder: "is a folder", link: "is a device", "/dev/zero": "is a device"} {
		done := make(chan error, 1)
		go func() {
			_, err := Read(path)
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is waited for", path)
		}
	}
	if files, err := Recent(filepath.Dir(fifo), 10); err != nil || len(files) > 0 {
		t.Errorf("%d runs, %v", len(files), err)
	}
}
