package ntttcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// talk plays a transcript to a referee: each line is a caller, what it says, and
// what is answered to whom, as "0:X > 0:11". Letters are messages, numbers times.
func talk(t *testing.T, r *referee, transcript string) {
	t.Helper()
	for line := range strings.Lines(transcript) {
		said, want, found := strings.Cut(strings.TrimSpace(line), " > ")
		if !found {
			continue
		}
		var caller int
		var value string
		if _, err := fmt.Sscanf(strings.Replace(said, ":", " ", 1), "%d %s", &caller, &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, known := r.callers[caller]; !known {
			r.join(caller)
		}
		if got := shown(r.hear(caller, message(value))); got != want {
			t.Errorf("%s: got %q, want %q", said, got, want)
		}
	}
}

func message(text string) int32 {
	var n int32
	if _, err := fmt.Sscan(text, &n); err == nil {
		return n
	}
	return int32(text[0])
}

func shown(r ruling) string {
	var all []string
	for _, reply := range r.replies {
		all = append(all, fmt.Sprintf("%d:%s", reply.caller, word(reply.value)))
	}
	slices.Sort(all)
	for what, is := range map[string]bool{"start": r.start, "end": r.end != onTime, "drop": r.drop != ""} {
		if is {
			all = append(all, what)
		}
	}
	return strings.Join(all, " ")
}

func word(value int32) string {
	if slices.Contains([]int32{askRun, askEnd, sayWait}, value) {
		return string(rune(value))
	}
	return fmt.Sprint(value)
}

func TestRefereeOneSender(t *testing.T) {
	talk(t, newReferee(1, 0, false), `
		0:X > 0:11
		0:15 > 0:15
		0:R > 0:R start
		1:X > 1:12
		0:E > 0:13 end
	`)
}

// Trap (a): the original switches on the value alone.
func TestRefereeTellsTimesFromLetters(t *testing.T) {
	for seconds, want := range map[int]string{69: "0:E", 76: "0:76", 82: "0:R", 88: "0:88"} {
		talk(t, newReferee(1, 0, false), fmt.Sprintf(`
			0:X > 0:11
			0:%d > %s
			0:R > 0:R start
			0:E > 0:13 end
		`, seconds, want))
	}
}

// Trap (b): the last client is answered once, not twice.
func TestRefereeManySendersStartTogether(t *testing.T) {
	talk(t, newReferee(30, 0, true), `
		0:X > 0:11
		0:15 > 0:30
		1:X > 1:11
		1:88 > 1:30
		0:R > 0:W
		2:X > 2:11
		2:0 > 2:30
		1:R > 1:W
		2:L > 0:R 1:R 2:R start
		3:X > 3:12
		0:E > 0:13
		1:E > 1:13
		2:E > 2:13 end
	`)
}

// Trap (c): without -M the original repeats its last answer, which for 82 s is a go.
func TestRefereeRefusesTheLastOfOne(t *testing.T) {
	talk(t, newReferee(82, 0, false), `
		0:X > 0:11
		0:15 > 0:R
		0:L > 0:E
		0:R > 0:R start
	`)
}

// Trap (d): the eighth seat is the last client's.
func TestRefereeKeepsTheLastSeat(t *testing.T) {
	r := newReferee(5, 0, true)
	for caller := range openSeats + 1 {
		want := "W"
		if caller == openSeats {
			want = "E"
		}
		talk(t, r, fmt.Sprintf("%d:X > %d:11\n%d:5 > %d:5\n%d:R > %d:%s", caller, caller, caller, caller, caller, caller, want))
	}
	got := r.waiting()
	if got != openSeats {
		t.Fatalf("%d clients wait, want %d", got, openSeats)
	}
	talk(t, r, "9:X > 9:11\n9:5 > 9:5\n9:L > 0:R 1:R 2:R 3:R 4:R 5:R 6:R 9:R start")
}

// Trap (e): a receiver with its default of 60 s makes every shorter test that long.
func TestRefereeAgreesOnTheLongerTime(t *testing.T) {
	for _, c := range []struct{ own, longest, proposed, want int }{
		{60, 0, 15, 60}, {60, 0, 90, 90}, {60, 0, 0, 0}, {0, 0, 15, 0}, {1, 0, 15, 15},
		{1, 10, 15, 10}, {1, 10, 0, 10}, {60, 0, 1<<31 - 1, 1<<31 - 1},
	} {
		r := newReferee(c.own, c.longest, false)
		if got := r.agree(int32(c.proposed)); int(got) != c.want {
			t.Errorf("own %d, bound %d, proposed %d: %d, want %d", c.own, c.longest, c.proposed, got, c.want)
		}
	}
}

func TestRefereeDropsWhoBreaksTheProtocol(t *testing.T) {
	for name, transcript := range map[string]string{
		"no query":      "0:1195725856 > drop", // "GET "
		"start at once": "0:R > drop",
		"below zero":    "0:X > 0:11\n0:-1 > drop",
		"twice":         "0:X > 0:11\n0:5 > 0:5\n0:X > drop",
		"run twice":     "0:X > 0:11\n0:5 > 0:5\n0:R > 0:R start\n0:R > drop",
		"busy":          "0:X > 0:11\n0:5 > 0:5\n1:X > 1:12\n1:5 > drop",
	} {
		t.Run(name, func(t *testing.T) { talk(t, newReferee(1, 0, false), transcript) })
	}
}

func TestRefereeEndsWhenAllHaveLeft(t *testing.T) {
	r := newReferee(5, 0, true)
	talk(t, r, "0:X > 0:11\n0:5 > 0:5\n0:R > 0:W\n1:X > 1:11\n1:5 > 1:5\n1:L > 0:R 1:R start")
	if r.leave(0).end != onTime {
		t.Error("it ended with the first of two")
	}
	if r.leave(1).end != byGone {
		t.Error("it did not end with the last")
	}
	r.dismiss()
	talk(t, r, "2:X > 2:13\n2:5 > 2:5\n2:L > 2:R start")
}

// TestRefereeTakesALateGoodbye, once: a sender's clock may run out after the receiver's. The next one may come meanwhile.
func TestRefereeTakesALateGoodbye(t *testing.T) {
	r := newReferee(2, 0, false)
	talk(t, r, "0:X > 0:11\n0:2 > 0:2\n0:R > 0:R start")
	r.dismiss()
	talk(t, r, "1:X > 1:13\n1:2 > 1:2\n1:R > 1:R start\n0:E > 0:13\n0:E > drop\n1:E > 1:13 end")
}

func TestRefereeHasNoRoomForACrowd(t *testing.T) {
	r := newReferee(5, 0, true)
	for caller := range maxCallers {
		if !r.join(caller) {
			t.Fatalf("caller %d was not let in", caller)
		}
	}
	if r.join(maxCallers) {
		t.Error("one too many was let in")
	}
}

func TestClearTotal(t *testing.T) {
	for seconds, want := range map[int]int{0: 0, 60: 60, 69: 70, 76: 77, 82: 83, 88: 89, 70: 70, 87: 87} {
		if got, changed := ClearTotal(seconds); got != want || changed != (got != seconds) {
			t.Errorf("%d s became %d (%t), want %d", seconds, got, changed, want)
		}
	}
}

// FuzzReferee has senders say anything in any order: the referee never answers
// somebody who is not there, and never starts twice.
func FuzzReferee(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 'X', 0, 0, 0, 0, 15, 0, 0, 0, 0, 'R', 0, 0, 0, 0, 'E'}, true)
	f.Add([]byte{0, 0, 0, 0, 'X', 0, 0, 0, 0, 82, 0, 0, 0, 0, 'L', 1, 0, 0, 0, 'X'}, false)
	f.Fuzz(func(t *testing.T, said []byte, multi bool) {
		r := newReferee(60, 0, multi)
		starts := 0
		for ; len(said) > messageSize; said = said[messageSize+1:] {
			caller := int(said[0] % 16)
			if _, known := r.callers[caller]; !known {
				r.join(caller)
			}
			now := r.hear(caller, decodeMessage([messageSize]byte(said[1:])))
			for _, reply := range now.replies {
				if _, known := r.callers[reply.caller]; !known {
					t.Fatalf("an answer to %d, who is not there", reply.caller)
				}
			}
			if now.start {
				starts++
			}
			if now.drop != "" {
				r.leave(caller)
			}
		}
		if starts > 1 || r.total < 0 {
			t.Fatalf("%d starts, total %d s", starts, r.total)
		}
	})
}
