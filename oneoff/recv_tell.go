package oneoff

import (
	"time"

	"windtunnel/traffic"
)

// waitingNews is how much waits for who is told what a receiver does. More is left out, intervals first.
const waitingNews = 1024

// teller tells a RecvShow, which holds no sender up.
type teller struct {
	relay *traffic.Relay[func(RecvShow)]
}

func newTeller(show RecvShow) teller {
	return teller{traffic.NewRelay(waitingNews, func(one func(RecvShow)) { one(show) })}
}

// tell never waits. What it tells is of now.
func (t teller) tell(one func(RecvShow, time.Time)) {
	now := time.Now()
	t.relay.Tell(func(show RecvShow) { one(show, now) })
}

// minor is as tell, of what is left out first.
func (t teller) minor(one func(RecvShow, time.Time)) {
	if t.relay.Waiting() < waitingNews/2 {
		t.tell(one)
	}
}
