package ssh

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// laidOut writes files below a folder.
func laidOut(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestGuestIsBrought as it is laid out, and again where a file of it was damaged there.
func TestGuestIsBrought(t *testing.T) {
	pretend(t, "")
	folder := laidOut(t, map[string]string{"boot/vmlinuz-6.1": "image", "lib/modules/6.1/modules.dep": "", "lib/modules/6.1/kernel/net/virtio_net.ko": "module"})
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	files, err := guestFiles(folder)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	h := Host{Node: "a", Name: "h1", Dir: filepath.Join(t.TempDir(), "there")}
	for range 2 {
		brought, err := h.Bring(context.Background(), files)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"boot/vmlinuz-6.1": "image", "lib/modules/6.1/kernel/net/virtio_net.ko": "module"} {
			if text, err := os.ReadFile(filepath.Join(brought, "guest", name)); err != nil || string(text) != want {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
		if err := os.WriteFile(filepath.Join(brought, "guest/boot/vmlinuz-6.1"), []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFoldersThatAreNoGuests are refused before anything is brought.
func TestFoldersThatAreNoGuests(t *testing.T) {
	many := map[string]string{}
	for i := range mostGuestFiles + 1 {
		many[strings.Repeat("x", i%100+1)+"/"+strings.Repeat("y", i/100+1)] = ""
	}
	for _, files := range []map[string]string{many, {"boot/a name": ""}, {"boot/a\nname": ""}, {"boot/a'name": ""}} {
		if _, err := guestFiles(laidOut(t, files)); err == nil || !strings.Contains(err.Error(), "make guest") {
			t.Errorf("%d files: %v", len(files), err)
		}
	}
}
