//go:build linux

package ktime

import (
	"os"
	"reflect"
	"testing"
)

func TestFieldsAreCountedFromTheNamesEnd(t *testing.T) {
	for stat, want := range map[string][]string{
		"1 (a) R 0 1":       {"R", "0", "1"},
		"1 (a) 1 (b c) S 0": {"S", "0"},
		"1 (a) R":           {"R"},
		"":                  nil,
	} {
		if got := fields(stat); len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", stat, got, want)
		}
	}
}

func TestThisProcessRuns(t *testing.T) {
	if used, err := Used(os.Getpid()); used <= 0 || err != nil {
		t.Errorf("it has used %v: %v", used, err)
	}
	if got, err := Stat(os.Getpid()); len(got) < 20 || err != nil {
		t.Errorf("%q: %v", got, err)
	}
	const none = 1 << 22 // the kernel's limit of ids (PID_MAX_LIMIT)
	if _, err := Used(none); err == nil {
		t.Error("a process that is not there has a clock")
	}
	if got, err := Stat(none); len(got) > 0 || err == nil {
		t.Errorf("a process that is not there: %q", got)
	}
}
