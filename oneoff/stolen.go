package oneoff

import (
	"fmt"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// stolenWatch reads what a hypervisor takes of this host's CPUs while a window is open.
type stolenWatch struct {
	read   func() ([]time.Duration, error) // of each CPU since some time; none where it is not known
	window time.Duration
	timer  *time.Timer
	opened chan reading // of the moment it did
}

type reading struct {
	at     time.Time
	stolen []time.Duration
}

func watchStolen(opens time.Time, window time.Duration) *stolenWatch {
	return watchStolenBy(traffic.Steal, opens, window)
}

func watchStolenBy(read func() ([]time.Duration, error), opens time.Time, window time.Duration) *stolenWatch {
	w := &stolenWatch{read: read, window: window, opened: make(chan reading, 1)}
	w.timer = time.AfterFunc(time.Until(opens), func() {
		if stolen, err := read(); err == nil {
			w.opened <- reading{time.Now(), stolen}
		}
	})
	return w
}

// end is the CPU of which most was stolen until now; nil where nothing was, where that is not known, and where the window never
// opened. A worker ends a little after its window, and idles then: the share is the window's.
func (w *stolenWatch) end() *result.Stolen {
	w.timer.Stop()
	select {
	case opened := <-w.opened:
		now, err := w.read()
		if err != nil {
			return nil
		}
		return mostStolen(opened.stolen, now, min(w.window, time.Since(opened.at)))
	default:
		return nil
	}
}

func mostStolen(before, after []time.Duration, over time.Duration) *result.Stolen {
	most, cpu := time.Duration(0), 0
	for i := range min(len(before), len(after)) {
		if took := after[i] - before[i]; took > most {
			most, cpu = took, i
		}
	}
	if most == 0 {
		return nil
	}
	return &result.Stolen{CPU: cpu, Share: min(most.Seconds()/over.Seconds(), 1)}
}

// aTick is less than two of the ticks, of 10 ms, in which the system tells of stolen time.
const aTick = 15 * time.Millisecond

// spoiled is what of a measurement was done by hosts that had not all of their CPUs, where more was taken: empty where no more of
// one was stolen than a trial may miss, nor than the clock that counts it may add.
func spoiled(pair result.PairSample) (why string) {
	most := 0.0
	for _, end := range []struct {
		whose string
		result.PairEnd
	}{{"this host's", pair.Sender}, {"the receiver's", pair.Receiver}} {
		s := end.Stolen
		if s == nil || s.Share <= most || s.Share*end.WindowSeconds <= max(result.StealLimit*end.WindowSeconds, aTick.Seconds()) {
			continue
		}
		most = s.Share
		why = fmt.Sprintf("%.0f %% of %s CPU %d was stolen by the hypervisor", 100*min(s.Share, 1), end.whose, s.CPU)
	}
	return why
}
