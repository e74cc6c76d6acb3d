package frame

import "time"

// lookOpen is how often a sender looks whether a veth's other end has been closed to live frames.
const lookOpen = 100 * time.Millisecond

// keepOpen cares for a veth whose other end takes live frames by what somebody else has attached there, as another sender or another
// session's sink: that goes when it will, and all frames were refused from then on. In this namespace the other end is opened, else
// the receiver hears of it. It returns what ends that, and has to.
func (w *sendWorker) keepOpen(e mover) (free func()) {
	if _, live := w.liveSource(); !live || w.opened != nil || w.device.kind != "veth" {
		return func() {}
	}
	return again(lookOpen, func() (over bool) { return w.shut() && w.reopen(e) })
}

// shut tells whether a frame found no way out since the last look, as the other end took none.
func (w *sendWorker) shut() bool {
	for _, s := range w.sources {
		l, live := s.(*live)
		if live && closedTo(l.lacked()) && l.kernel.Now()-l.failed() < lookOpen {
			return true
		}
	}
	return false
}

// reopen tells whether the other end has been opened here.
func (w *sendWorker) reopen(e mover) bool {
	restore, err := openPeer(w.device)
	if err != nil {
		w.tellRefused(e, false)
		return false
	}
	w.opened, w.reopened = restore, true
	return true
}
