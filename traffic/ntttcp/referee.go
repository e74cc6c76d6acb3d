package ntttcp

// The seats of a receiver that waits for several clients (-M): ntttcp-for-linux
// has eight, of which the last is kept for the client that runs with -L.
const (
	seats      = 8
	openSeats  = seats - 1
	maxCallers = 64 // sync connections at once, seated or not
)

// step is how far a caller has come. The receiver knows by it, and not by the
// value, whether a message is a time: 69, 76, 82 and 88 s look like letters.
type step int

const (
	saysState step = iota // the first message is the state query
	saysTime              // the second is the time
	saysStart             // then R or L, or E
	waits                 // R was answered with W
	runs                  // then only E
	left                  // it has said E
	dismissed             // the test is over at this end: E may come all the same
)

// referee is the receiver's side of the synchronisation, without a socket: it
// hears what callers say and tells what to answer.
type referee struct {
	own     int32 // the receiver's -t, in seconds; 0: until somebody stops it
	longest int32 // no total is longer; 0: no bound
	multi   bool  // -M: R waits until L comes

	state   int32
	total   int32 // agreed, in seconds; 0: continuous
	callers map[int]step
}

func newReferee(ownSeconds, longestSeconds int, multi bool) *referee {
	return &referee{
		own: int32(ownSeconds), longest: int32(longestSeconds), multi: multi,
		state: notBegun, callers: map[int]step{},
	}
}

// reply is one message to one caller.
type reply struct {
	caller int
	value  int32
}

// ruling is what follows from a message.
type ruling struct {
	replies []reply
	start   bool   // the test begins now, for total seconds
	end     why    // the test is over before its time; "": it is not
	drop    string // the caller breaks the protocol, and how: close its connection
}

func answer(caller int, value int32) ruling {
	return ruling{replies: []reply{{caller, value}}}
}

// join admits a caller; a full receiver does not.
func (r *referee) join(caller int) bool {
	if len(r.callers) >= maxCallers {
		return false
	}
	r.callers[caller] = saysState
	return true
}

// hear rules on one message.
func (r *referee) hear(caller int, value int32) ruling {
	at := r.callers[caller]
	switch {
	case at == saysState && value == askState:
		r.callers[caller] = saysTime
		return answer(caller, r.stateFor(caller))
	case at == saysTime:
		return r.hearTime(caller, value)
	case value == askEnd && at != saysState && at != left:
		return r.hearEnd(caller, at)
	case at == saysStart && value == askRun:
		return r.hearRun(caller)
	case at == saysStart && value == askLast:
		return r.hearLast(caller)
	}
	return ruling{drop: "it said " + spell(value) + " where the protocol has no such message"}
}

// stateFor is what a caller is told first. Who came earlier and agreed on a time
// has the receiver, also before it starts: a second sender's connections could
// not be told from the first one's.
func (r *referee) stateFor(caller int) int32 {
	if r.multi || r.state == running {
		return r.state
	}
	for other, at := range r.callers {
		if other != caller && at >= saysStart && at < left {
			return running
		}
	}
	return r.state
}

func (r *referee) hearTime(caller int, seconds int32) ruling {
	if seconds < 0 {
		return ruling{drop: "it proposed a time below zero"}
	}
	if r.state == running || r.stateFor(caller) == running {
		return ruling{drop: "it goes on though the receiver is busy"}
	}
	r.callers[caller] = saysStart
	r.total = r.agree(seconds)
	return answer(caller, r.total)
}

// agree settles the total time: what the receiver was given where it waits for
// many, else no bound if either end wants none, else the longer of both. So a
// receiver with its default of 60 s makes every shorter test 60 s long, of which
// a sender measures its own part first and lets the rest cool down.
func (r *referee) agree(proposed int32) int32 {
	total := max(r.own, proposed)
	if r.multi {
		total = r.own
	} else if r.own == 0 || proposed == 0 {
		total = 0
	}
	if r.longest > 0 && (total == 0 || total > r.longest) {
		total = r.longest
	}
	return total
}

func (r *referee) hearRun(caller int) ruling {
	if r.state == running {
		return answer(caller, askEnd)
	}
	if !r.multi {
		r.callers[caller] = runs
		return r.begin(caller)
	}
	if r.waiting() >= openSeats {
		return answer(caller, askEnd)
	}
	r.callers[caller] = waits
	return answer(caller, sayWait)
}

// hearLast begins a test for all who wait. The original answers the last caller
// twice, once with the others; it reads one and would take the second for the
// answer to its E, so here it gets one. Without -M the original answers with
// whatever it had said last, which may read as a go: here it is a refusal.
func (r *referee) hearLast(caller int) ruling {
	if !r.multi || r.state == running || r.waiting() >= seats {
		return answer(caller, askEnd)
	}
	r.callers[caller] = waits
	return r.begin(-1)
}

// begin starts the test for one caller, or, with -1, for all who wait.
func (r *referee) begin(only int) ruling {
	r.state = running
	now := ruling{start: true}
	for caller, at := range r.callers {
		if caller == only || only < 0 && at == waits {
			r.callers[caller] = runs
			now.replies = append(now.replies, reply{caller, askRun})
		}
	}
	return now
}

// hearEnd lets one caller go; the test ends with the last of those who ran.
func (r *referee) hearEnd(caller int, at step) ruling {
	r.callers[caller] = left
	if at == saysTime || at == saysStart || at == waits {
		return answer(caller, r.state)
	}
	now := answer(caller, finished)
	if at == runs && r.deserted() {
		now.end = byPeer
	}
	return now
}

// leave forgets a caller whose connection is gone.
func (r *referee) leave(caller int) ruling {
	at := r.callers[caller]
	delete(r.callers, caller)
	if at == runs && r.deserted() {
		return ruling{end: byGone}
	}
	return ruling{}
}

// deserted tells whether a test runs and nobody takes part any more. To others
// the receiver stays busy until it is dismissed.
func (r *referee) deserted() bool {
	for _, at := range r.callers {
		if at == runs {
			return false
		}
	}
	return r.state == running
}

// dismiss ends the test at the receiver's end and tells who took part.
func (r *referee) dismiss() (callers []int) {
	for caller, at := range r.callers {
		if at == runs {
			r.callers[caller] = dismissed
			callers = append(callers, caller)
		}
	}
	if r.state == running {
		r.state = finished
	}
	return callers
}

func (r *referee) waiting() int {
	n := 0
	for _, at := range r.callers {
		if at == waits {
			n++
		}
	}
	return n
}
