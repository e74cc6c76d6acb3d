package lab

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// NeedLinux skips a test that needs root and a kernel that is not older.
func NeedLinux(t *testing.T, major, minor int) {
	t.Helper()
	NeedRoot(t)
	if release, is := linux(t); !is.atLeast(major, minor) {
		t.Skipf("skip: needs Linux %d.%d, and this is %s", major, minor, release)
	}
}

// IsLinux tells whether the kernel is not older.
func IsLinux(t *testing.T, major, minor int) bool {
	t.Helper()
	_, is := linux(t)
	return is.atLeast(major, minor)
}

type release struct{ major, minor int }

func (r release) atLeast(major, minor int) bool {
	return r.major > major || r.major == major && r.minor >= minor
}

func linux(t *testing.T) (text string, is release) {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	text = unix.ByteSliceToString(name.Release[:])
	if _, err := fmt.Sscanf(text, "%d.%d", &is.major, &is.minor); err != nil {
		t.Fatalf("reading the kernel's release %q: %v", text, err)
	}
	return text, is
}
