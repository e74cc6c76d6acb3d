package command

import (
	"os/exec"
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	at := time.Date(2026, 1, 3, 9, 7, 5, 0, time.UTC)
	for format, want := range map[string]string{
		ctimeStamp: "Sat Jan  3 09:07:05 2026 ", "%H:%M:%S ": "09:07:05 ", "%s|": "1767431225|", "%F %T%%": "2026-01-03 09:07:05%",
		"%I %l %k %p": "09  9  9 AM", "plain ": "plain ", "%j %U %W %V %G %g %u %w %C": "003 00 00 01 2026 26 6 6 20",
	} {
		if got := stamp(format, at); got != want {
			t.Errorf("stamp(%q) = %q, want %q", format, got, want)
		}
	}
	for _, format := range []string{"%", "%Q", "100%"} {
		if err := checkStamp(format); err == nil {
			t.Errorf("checkStamp(%q) let it through", format)
		}
	}
}

// TestStampAgreesWithTheSystem compares every conversion with date(1), which
// writes what strftime(3) does.
func TestStampAgreesWithTheSystem(t *testing.T) {
	const all = "%a %A %b %B %C %d %D %e %F %g %G %h %H %I %j %k %l %m %M %p %r %R %s %S %T %u %U %V %w %W %x %X %y %Y %Z"
	for _, at := range []time.Time{
		time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2023, 1, 1, 12, 30, 0, 0, time.UTC),
	} {
		date := exec.Command("date", "-u", "-d", "@"+stamp("%s", at), "+"+all)
		date.Env = []string{"LC_ALL=C", "PATH=/bin:/usr/bin"}
		want, err := date.Output()
		if err != nil {
			t.Skipf("no date(1) that takes -d: %v", err)
		}
		if got := stamp(all, at) + "\n"; got != string(want) {
			t.Errorf("got  %swant %s", got, want)
		}
	}
}
