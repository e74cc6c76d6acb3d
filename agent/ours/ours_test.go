package ours

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not looked at here: this program is for no machine of Linux")
	}
	dir := t.TempDir()
	self := filepath.Join(dir, "windtunnel-linux-"+runtime.GOARCH)
	if file, err := Find(self, Program, "linux", runtime.GOARCH); err != nil || file != self {
		t.Errorf("the one that runs: %s, %v", file, err)
	}
	if _, err := Find(self, Program, "linux", "riscv64"); err == nil || !strings.Contains(err.Error(), "windtunnel-linux-riscv64: build it with `make dist`") {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := Find(self, Program, "linux", "../x"); err == nil || strings.Contains(err.Error(), "..: ") {
		t.Errorf("an architecture that is a path: %v", err)
	}
	for _, c := range []struct{ file, name, system, architecture string }{
		{"windtunnel-linux-riscv64", Program, "linux", "riscv64"},
		{"vrouter-linux-" + runtime.GOARCH, "vrouter", "linux", runtime.GOARCH},
		{"vrouter", "vrouter", "linux", runtime.GOARCH}, // goes first
		{"windtunnel-windows-" + runtime.GOARCH + ".exe", Program, "windows", runtime.GOARCH},
		{"windtunnel-darwin-arm64", Program, "darwin", "arm64"},
	} {
		want := filepath.Join(dir, c.file)
		if err := os.WriteFile(want, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if file, err := Find(self, c.name, c.system, c.architecture); err != nil || file != want {
			t.Errorf("%s for %s/%s: %s, %v", c.name, c.system, c.architecture, file, err)
		}
	}
}

func TestGuest(t *testing.T) {
	dir := t.TempDir()
	self := filepath.Join(dir, "windtunnel")
	if folder := Guest(self, runtime.GOARCH); folder != "" {
		t.Errorf("none is there: %s", folder)
	}
	for _, c := range []struct{ folder, architecture string }{
		{"guest-linux-riscv64", "riscv64"}, {"guest-linux-" + runtime.GOARCH, runtime.GOARCH}, {"guest", runtime.GOARCH}, // goes first
	} {
		want := filepath.Join(dir, c.folder)
		if err := os.Mkdir(want, 0o700); err != nil {
			t.Fatal(err)
		}
		want, _ = filepath.EvalSymlinks(want)
		if folder := Guest(self, c.architecture); folder != want {
			t.Errorf("for %s: %s, not %s", c.architecture, folder, want)
		}
	}
	if folder := Guest(self, "s390x"); folder != "" {
		t.Errorf("another architecture's: %s", folder)
	}
}
