package traffic

import (
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

func TestThreadWait(t *testing.T) {
	if wait, err := ThreadWait(ThreadID()); err != nil || wait < 0 {
		t.Errorf("got %s, %v", wait, err)
	}
}
