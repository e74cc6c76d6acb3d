package stream

import (
	"io"
	"os"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestAResetStreamEndsItsEngine, however it copies, and whichever of two on a thread it is.
func TestAResetStreamEndsItsEngine(t *testing.T) {
	for _, way := range []string{CopyPlain, CopyZero, CopySendfile, CopySplice} {
		for dead := range 2 {
			near, far := connected(t, 2)
			e := newTestEngine(t, flowsOf(near, traffic.Send), Config{Copy: way, FailTogether: true})
			e.Start()
			go io.Copy(io.Discard, far[1-dead])
			if _, err := io.CopyN(io.Discard, far[dead], 4<<20); err != nil {
				t.Fatal(err)
			}
			far[dead].SetLinger(0)
			far[dead].Close()
			select {
			case <-e.Done():
				if e.Err() == nil {
					t.Errorf("%s: stream %d was reset, and no error is told", way, dead)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s: stream %d was reset, and the engine runs", way, dead)
			}
			e.Close()
		}
	}
}

// TestASlowPeerHoldsUpNoEnd: it takes a large message, for which the socket has little room, at 2 MB/s, and the end does not
// wait for the whole message.
func TestASlowPeerHoldsUpNoEnd(t *testing.T) {
	const message, each, perSecond = 16 << 20, 4 << 10, 2 << 20
	for _, way := range []string{CopyPlain, CopySendfile} {
		near, far := connected(t, 1)
		near[0].SetWriteBuffer(32 << 10)
		far[0].SetReadBuffer(32 << 10)
		e := newTestEngine(t, flowsOf(near, traffic.Send), Config{Copy: way, Message: message, FailTogether: true})
		e.Start()
		read := make(chan bool)
		go func() {
			b := make([]byte, each)
			for i := 0; ; i++ {
				if _, err := io.ReadFull(far[0], b); err != nil {
					return
				}
				if i == 512 { // about a second
					close(read)
				}
				time.Sleep(each * time.Second / perSecond) // its rate
			}
		}()
		<-read
		began := time.Now()
		e.Halt()
		if halted := time.Since(began); halted > 2*time.Second {
			t.Errorf("%s: the end took %s", way, halted)
		}
		e.Close()
	}
}

// TestIntervalsOfManyStreamsAddUp: reading many takes a while, in which they go on.
func TestIntervalsOfManyStreamsAddUp(t *testing.T) {
	const streams = 128
	o := result.Options{"streams": int64(streams)}
	for _, warmUp := range []time.Duration{0, 100 * time.Millisecond} {
		receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
		send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
		when := traffic.Schedule{Start: time.Now().Add(100 * time.Millisecond), WarmUp: warmUp, Window: 500 * time.Millisecond, Interval: 100 * time.Millisecond}
		var ends [2]result.PairEnd
		over := make(chan error)
		for i, w := range []*worker{send, receive} {
			go func() {
				var err error
				ends[i], err = w.Run(t.Context(), when)
				over <- err
			}()
		}
		for range ends {
			if err := <-over; err != nil {
				t.Fatal(err)
			}
		}
		for i, end := range ends {
			sum := uint64(0)
			for _, v := range end.Intervals {
				if v.From >= 0 {
					sum += v.Bytes
				}
			}
			if sum != end.Bytes || end.Bytes == 0 {
				t.Errorf("end %d with a warm-up of %s: intervals have %d bytes, the window %d: %+v", i, warmUp, sum, end.Bytes, end.Intervals)
			}
		}
	}
}

// TestWhatAFailedEngineHadIsClosedOnce: where a later thread finds no files, what those before it had is closed, and not once more when
// somebody else has its number: in a server another client's connection.
func TestWhatAFailedEngineHadIsClosedOnce(t *testing.T) {
	near, _ := connected(t, 4)
	e := &Engine{config: Config{Threads: 2}.filled(), crews: map[traffic.Role]*crew{}, release: func() {}}
	for _, f := range flowsOf(near, traffic.Receive) {
		if err := e.take(f); err != nil {
			t.Fatal(err)
		}
	}
	e.flows[1].close() // of the second thread
	if e.muster() == nil {
		t.Fatal("a thread was made of a socket that is closed")
	}
	var others []*os.File
	for range 8 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		others = append(others, f)
	}
	e.free()
	for i, f := range others {
		if _, err := f.Stat(); err != nil {
			t.Errorf("file %d of somebody else was closed: %v", i, err)
		}
	}
}
