package ping

import (
	"fmt"
	"testing"
	"time"

	"windtunnel/result"
)

func TestReadsAreSpreadEvenly(t *testing.T) {
	for _, reads := range []uint64{0, 1, 33, 50, 67, 99, 100} {
		s := shape{message: 4096, response: 48, mixed: true, reads: reads}
		n := uint64(0)
		for number := range uint64(1000) {
			request, answer := s.request(number), s.answer(number)
			if s.isRead(number) {
				n++
				request, answer = answer, request
			}
			if request != 4096 || answer != 48 {
				t.Fatalf("request %d of %d %% reads: %d and %d bytes", number, reads, request, answer)
			}
			if due := (number + 1) * reads / 100; n != due {
				t.Fatalf("%d reads among the first %d at %d %%", n, number+1, reads)
			}
		}
	}
	alike := shape{message: 7, response: 9}
	if alike.request(3) != 7 || alike.answer(3) != 9 || alike.longest() != 9 || alike.shortest() != 9 {
		t.Error("requests that are alike are not")
	}
}

// TestMixedRequests moves payload both ways, by the shares that were asked for, and both ends agree.
func TestMixedRequests(t *testing.T) {
	for engine := range engines {
		for _, c := range []struct{ message, reads, depth, flows int64 }{
			{1, 50, 1, 1}, {4096, 70, 1, 1}, {1 << 20, 50, 1, 2}, {65536, 0, 1, 1}, {65536, 100, 1, 1},
			{4096, 67, 32, 1}, {512, 30, 2000, 2}, {1 << 20, 50, 8, 1},
		} {
			if engine == "portable" && c.depth > 1 {
				continue
			}
			t.Run(fmt.Sprint(engine, c), func(t *testing.T) {
				o := result.Options{"message": c.message, "reads": c.reads, "depth": c.depth, "flows": c.flows}
				s, r := undisturbed(t, func(t *testing.T) (s, r finished) {
					send, receive := pair(t, o, "127.0.0.1")
					send.make, receive.make = engines[engine], engines[engine]
					return runBoth(t.Context(), send, receive, soon(200*time.Millisecond))
				})
				checkMix(t, s.end, c.message, c.reads)
				checkMix(t, r.end, c.message, c.reads)
			})
		}
	}
}

func checkMix(t *testing.T, end result.PairEnd, message, reads int64) {
	t.Helper()
	forth, back := end.Bytes/uint64(message), end.Opposite.Bytes/uint64(message)
	if forth*uint64(message) != end.Bytes || back*uint64(message) != end.Opposite.Bytes || end.Opposite.WindowSeconds != end.WindowSeconds {
		t.Errorf("%d bytes forth, %d back, in pieces of %d", end.Bytes, end.Opposite.Bytes, message)
	}
	// A window begins and ends anywhere in the hundred, on each of two flows.
	if share := float64(reads) / 100 * float64(forth+back); forth+back == 0 || float64(back) < share-4 || float64(back) > share+4 {
		t.Errorf("%d of %d requests read, %d %% were asked for", back, forth+back, reads)
	}
}

func TestMixIsRefusedWhereItCannotBe(t *testing.T) {
	for name, o := range map[string]result.Options{
		"over UDP":      {"protocol": "udp", "reads": int64(50)},
		"depth at rate": {"rate": 100.0, "depth": int64(2)},
		"depth of UDP":  {"protocol": "udp", "depth": int64(2)},
		"more than all": {"reads": int64(101)},
		"more around":   {"reads": int64(50), "message": int64(40), "response": int64(49)},
	} {
		if _, err := parseLoad(o); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// TestLostReadsSendNothing: no payload left with a read, whatever became of it.
func TestLostReadsSendNothing(t *testing.T) {
	tl := newTally(load{}, plan{to: 100})
	for _, e := range []ended{
		{sent: 1, done: 2, state: answered}, {sent: 1, done: 2, state: answered, read: true},
		{sent: 1, state: givenUp}, {sent: 1, state: givenUp, read: true}, {sent: 1, done: 90, state: lateAnswer, read: true},
		{sent: 1, done: 100, state: open, read: true},
	} {
		tl.count(&e)
	}
	tl.unanswered(&request{sent: 1, state: givenUp, read: true}, 100, false)
	o := sum([]*tally{tl})
	if writes := o.requests() - o.reads - o.unread; o.requests() != 6 || writes != 2 || o.late != 1 {
		t.Errorf("%d of %d requests were writes, want 2 of 6: %+v", writes, o.requests(), o)
	}
}

func TestOthers(t *testing.T) {
	if got := others(nil); got != nil {
		t.Errorf("beside none: %v", got)
	}
	all := others([]int{maxCPUs})
	if len(all) == 0 {
		t.Fatal("this process runs nowhere")
	}
	if got := others(all); got != nil {
		t.Errorf("beside all %v: %v", all, got)
	}
	if got := others(all[:1]); len(got) != len(all)-1 {
		t.Errorf("beside %v of %v: %v", all[:1], all, got)
	}
}
