package traffic

import (
	"slices"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	busy, total, err := parseStat([]byte("cpu  100 10 50 1000 200 5 5 900 0 0"))
	if err != nil || busy != 1700*time.Millisecond || total != 13700*time.Millisecond {
		t.Errorf("got %s of %s, %v", busy, total, err)
	}
	for _, bad := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestParseSteal(t *testing.T) {
	stolen, err := parseSteal([]byte("cpu  100 10 50 1000 200 5 5 900 0 0\ncpu0 1 2 3 4 5 6 7 800 9 10\ncpu1 1 2 3 4 5 6 7 100 9 10\nintr 1 2 3 4 5 6 7 8 9\n"))
	if err != nil || !slices.Equal(stolen, []time.Duration{8 * time.Second, time.Second}) {
		t.Errorf("got %s, %v", stolen, err)
	}
	if _, err := parseSteal([]byte("cpu0 1 2 3 4 5 6 7 x 9 10")); err == nil {
		t.Error("x passed")
	}
	if stolen, err := Steal(); err != nil || len(stolen) == 0 {
		t.Errorf("of this host: %s, %v", stolen, err)
	}
}

func TestThreadWait(t *testing.T) {
	if wait, err := ThreadWait(ThreadID()); err != nil || wait < 0 {
		t.Errorf("got %s, %v", wait, err)
	}
}
