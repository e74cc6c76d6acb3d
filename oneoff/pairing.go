package oneoff

import (
	"math"
	"sync"
	"time"

	"windtunnel/result"
)

// Paired is one interval at both ends, each with its own times. An end that did not tell it is nil.
type Paired struct {
	From     float64          `json:"from"` // seconds since the window began, of this end where it told; the warm-up's are below zero
	To       float64          `json:"to"`
	Sender   *result.Interval `json:"sender,omitempty"`
	Receiver *result.Interval `json:"receiver,omitempty"`
}

// pairing puts the intervals of both ends side by side, which come when they
// will, and hands them on in order.
type pairing struct {
	show   func(Paired) // may be nil
	length float64      // seconds

	mu      sync.Mutex
	waiting map[int]Paired
	shown   int // the number of the last that was handed on
	any     bool
}

// overdue is for how many intervals one waits for its other end.
const overdue = 2

func newPairing(length time.Duration, show func(Paired)) *pairing {
	return &pairing{show: show, length: length.Seconds(), waiting: map[int]Paired{}}
}

func (p *pairing) sender(i result.Interval)   { p.take(i, func(pair *Paired) { pair.Sender = &i }) }
func (p *pairing) receiver(i result.Interval) { p.take(i, func(pair *Paired) { pair.Receiver = &i }) }

// numberOf is an interval's, by where its middle lies: an end that was late begins its
// first one late. The warm-up's never count as the window's.
func numberOf(i result.Interval, length float64) float64 {
	number := math.Floor((i.From + i.To) / 2 / length)
	if i.From < 0 {
		number = min(number, -1)
	}
	return number
}

// take adds one end's interval.
func (p *pairing) take(i result.Interval, set func(*Paired)) {
	const most = 1e9 // a stranger's number
	if p.show == nil || p.length <= 0 || !(math.Abs(i.From/p.length) < most) || !(math.Abs(i.To/p.length) < most) {
		return
	}
	number := int(numberOf(i, p.length))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.any && number <= p.shown {
		return // its line is out already
	}
	pair := p.waiting[number]
	set(&pair)
	p.waiting[number] = pair
	p.hand()
}

// hand hands on what is complete, in order, and the oldest where too many wait.
func (p *pairing) hand() {
	for number, ok := p.first(); ok; number, ok = p.first() {
		pair := p.waiting[number]
		if whole := pair.Sender != nil && pair.Receiver != nil; !whole && len(p.waiting) <= overdue {
			return
		}
		p.out(number)
	}
}

// flush hands on whatever waits.
func (p *pairing) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for number, ok := p.first(); ok; number, ok = p.first() {
		p.out(number)
	}
}

func (p *pairing) first() (number int, ok bool) {
	for n := range p.waiting {
		if !ok || n < number {
			number, ok = n, true
		}
	}
	return number, ok
}

func (p *pairing) out(number int) {
	p.shown, p.any = number, true
	pair := p.waiting[number]
	delete(p.waiting, number)
	timed := pair.Sender
	if timed == nil {
		timed = pair.Receiver
	}
	pair.From, pair.To = timed.From, timed.To
	p.show(pair)
}
