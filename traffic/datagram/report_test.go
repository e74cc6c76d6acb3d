package datagram

import (
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestCPUOfAThreadThatMissesAMark: one thread of two hears nothing in the tail, and its
// CPU time counts all the same.
func TestCPUOfAThreadThatMissesAMark(t *testing.T) {
	mark := func(ms int64) seen {
		return seen{at: ms * 1e6, cpu: time.Duration(ms) * time.Millisecond / 10, yes: true}
	}
	busy, quiet := &receiver{}, &receiver{}
	busy.seen[markWindow], busy.seen[markTail] = mark(1000), mark(3000)
	quiet.seen[markWindow] = mark(1000)
	r := &run{engine: &Engine{threads: []*thread{{receive: busy}, {receive: quiet}, {send: &sender{}}}}}
	for want, threads := range map[float64][]*thread{
		0.4: {{receive: busy}, {receive: quiet}, {send: &sender{}}}, // by the snapshots: 0.44 s in 2.2
		0.2: {{receive: busy}, {send: &sender{}}},                   // by the marks
	} {
		r.engine.threads = threads
		end := result.PairEnd{WindowSeconds: 2.2, CPUSeconds: 0.44, Packets: fewDatagrams}
		r.betweenMarks(&end, traffic.Receive)
		if end.WindowSeconds != 2 || end.CPUSeconds < want-1e-9 || end.CPUSeconds > want+1e-9 {
			t.Errorf("%d threads: %g s of CPU in %g s, want %g in 2", len(threads), end.CPUSeconds, end.WindowSeconds, want)
		}
	}
}
