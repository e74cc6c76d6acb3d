package oneoff

import (
	"context"
	"time"
)

// Whoever is told what a receiver does may be slow, as a terminal that is stopped, and holds no sender up: so much waits for
// it, and more is left out, intervals first. At the end it has so long for what waits.
const (
	waitingNews  = 1024
	tellPatience = time.Second
)

// teller tells a RecvShow on a goroutine of its own, in order.
type teller struct {
	news chan func(RecvShow)
	ctx  context.Context // ends when nothing more is told
	end  context.CancelFunc
}

func newTeller(show RecvShow) *teller {
	t := &teller{news: make(chan func(RecvShow), waitingNews)}
	t.ctx, t.end = context.WithCancel(context.Background())
	go func() {
		for t.ctx.Err() == nil {
			select {
			case one := <-t.news:
				one(show)
			case <-t.ctx.Done():
			}
		}
	}()
	return t
}

// tell never waits. What it tells is of now.
func (t *teller) tell(one func(RecvShow, time.Time)) {
	now := time.Now()
	select {
	case t.news <- func(show RecvShow) { one(show, now) }:
	default:
	}
}

// minor is as tell, of what is left out first.
func (t *teller) minor(one func(RecvShow, time.Time)) {
	if len(t.news) < waitingNews/2 {
		t.tell(one)
	}
}

// close waits, for a while, until all has been told.
func (t *teller) close() {
	defer t.end()
	late := time.After(tellPatience)
	select {
	case t.news <- func(RecvShow) { t.end() }:
	case <-late:
		return
	}
	select {
	case <-t.ctx.Done():
	case <-late:
	}
}
