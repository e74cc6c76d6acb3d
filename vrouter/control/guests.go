package control

import (
	"net"
	"sync"
	"time"
)

// guests are the clients that are served, so many at a time. Those who only keep a connection do not
// keep others away: when there is no room, the one who has asked nothing for the longest time has to go.
type guests struct {
	mu   sync.Mutex
	most int
	here map[*guest]bool
}

// A guest is one client.
type guest struct {
	net.Conn
	of    *guests
	since time.Time // it asks nothing; zero while it is served
}

func newGuests(most int) *guests { return &guests{most: most, here: make(map[*guest]bool)} }

// enter takes a client in; nil if all others are being served.
func (g *guests) enter(conn net.Conn) *guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.here) >= g.most {
		idle := g.idlest()
		if idle == nil {
			return nil
		}
		delete(g.here, idle)
		idle.Close() // its reader ends, and with it all that it holds
	}
	one := &guest{Conn: conn, of: g, since: time.Now()}
	g.here[one] = true
	return one
}

func (g *guests) idlest() (idlest *guest) {
	for one := range g.here {
		if !one.since.IsZero() && (idlest == nil || one.since.Before(idlest.since)) {
			idlest = one
		}
	}
	return idlest
}

// waits notes that a guest asks nothing from now on.
func (one *guest) waits() { one.set(time.Now()) }

// asks notes that it does.
func (one *guest) asks() { one.set(time.Time{}) }

func (one *guest) set(since time.Time) {
	one.of.mu.Lock()
	defer one.of.mu.Unlock()
	one.since = since
}

func (one *guest) leave() {
	one.of.mu.Lock()
	defer one.of.mu.Unlock()
	delete(one.of.here, one)
}
