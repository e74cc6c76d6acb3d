package ntttcp

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// serveSync hears one of ntttcp-for-linux's senders. Each has a referee of its
// own, so none waits for another; only that two of one host do not open their
// connections at the same time, which could not be told apart.
func (h *hall) serveSync(ctx context.Context, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	v := &visit{hall: h, conn: conn, from: remoteIP(conn), release: func() {}, referee: newReferee(leastTotal, longestTotal(h.config.MaxTime), false)}
	v.referee.join(onlyCaller)
	defer v.leave()
	for v.hear(ctx) {
	}
}

const (
	onlyCaller = 0
	// leastTotal is the server's own time in seconds: what the sender wants counts.
	leastTotal = 1
)

// longestTotal is the longest time in seconds that senders may agree on, 0 for any: those that are over within the bound.
func longestTotal(bound time.Duration) int {
	if bound == 0 {
		return 0
	}
	return max(leastTotal, int(bound/time.Second))
}

// visit is one sender at the sync port.
type visit struct {
	hall    *hall
	conn    net.Conn
	from    netip.Addr
	referee *referee
	release func()    // lets the next caller of this host open its connections
	since   time.Time // when this one began to
	session *session
}

// hear takes one message and answers it; false: the conversation is over.
func (v *visit) hear(ctx context.Context) bool {
	at := v.referee.callers[onlyCaller]
	if at != runs { // while it runs, the session bounds its time
		v.conn.SetReadDeadline(stepPatience(at))
	}
	value, err := readMessage(v.conn)
	if err != nil || ctx.Err() != nil {
		return false
	}
	if at == saysStart && value == askLast {
		value = askRun // every client starts at once here: there is nobody to wait for
	}
	ruling := v.referee.hear(onlyCaller, value)
	if ruling.drop != "" {
		v.hall.refuse(v.from, ruling.drop)
		return false
	}
	say := ruling.replies[0].value
	switch {
	case at == saysState && v.hall.isFullFor(ctx, v.from):
		v.reply(running)
		v.hall.refuse(v.from, errFull.Error())
		return false
	case at == saysTime && !v.takeTurn(ctx):
		return false
	case ruling.start:
		say = v.start(ctx)
	case value == askEnd:
		v.stop()
	}
	return v.reply(say) && say != askEnd
}

func (v *visit) reply(value int32) bool {
	v.conn.SetWriteDeadline(time.Now().Add(replyPatience))
	return writeMessage(v.conn, value) == nil
}

const (
	// firstGuest is how long the first connection of a sender may still lie in the
	// accept queue when its R is here; a sender without any sends UDP.
	firstGuest = 100 * time.Millisecond
	// settling is how long others may: as long the next caller of the same host
	// has to wait, so that they become this one's.
	settling = 100 * time.Millisecond
)

// start claims the connections that the sender has opened since it agreed on the
// time.
func (v *visit) start(ctx context.Context) int32 {
	h := v.hall
	total := time.Duration(v.referee.total) * time.Second
	guests, mixed := v.guests(ctx)
	s := &session{from: v.from, client: v.conn.RemoteAddr().String(), total: total, whole: true, tool: forLinux}
	says := fmt.Sprintf("ntttcp-for-linux, %d s, %s", v.referee.total, plural(len(guests), "connection"))
	if len(guests) == 0 { // datagrams beside connections are another test's of the host
		s.flood = h.newFlood()
		says = fmt.Sprintf("ntttcp-for-linux, %d s, UDP", v.referee.total)
	}
	var err error
	v.session, err = h.admit(ctx, guests, s, says)
	if err != nil {
		v.release()
		h.refuse(v.from, err.Error())
		return askEnd
	}
	if mixed {
		v.session.doubt("tokens of %s came for its ports: another sender of this host may be among its connections", forWindows)
	}
	time.AfterFunc(settling, v.release)
	v.conn.SetReadDeadline(time.Time{})
	v.session.farewell(func() { v.conn.SetReadDeadline(time.Now().Add(goodbye)) })
	return askRun
}

// guests are those that the caller can have opened since its turn; mixed, if another sender's may be among them.
func (v *visit) guests(ctx context.Context) (guests []guest, mixed bool) {
	for began := time.Now(); ; {
		outsiders, mixed := v.hall.outsiders(v)
		guests := v.hall.lobby.claim(func(g guest) bool {
			if outsiders[g] {
				g.look.outside.Store(true)
			}
			return g.from == v.from && g.came.After(v.since) && !g.look.outside.Load()
		})
		if len(guests) > 0 || time.Since(began) > firstGuest || sleep(ctx, porterEvery) != nil {
			return guests, mixed
		}
	}
}

// turnPatience is how long a caller waits for another one of its host, which then
// has had the time to open its connections.
const turnPatience = 3 * time.Second

// takeTurn waits until no other caller of this host is opening its connections.
func (v *visit) takeTurn(ctx context.Context) bool {
	limit := time.After(turnPatience)
	for late := false; ; {
		v.hall.mu.Lock()
		other := v.hall.preparing[v.from]
		if other == nil || late {
			turn := make(chan struct{})
			v.since = time.Now()
			v.hall.preparing[v.from] = turn
			v.hall.mu.Unlock()
			v.release = sync.OnceFunc(func() { v.hall.giveTurn(v.from, turn) })
			return true
		}
		v.hall.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return false
		case <-limit:
			late = true
		}
	}
}

func (h *hall) giveTurn(from netip.Addr, turn chan struct{}) {
	h.mu.Lock()
	if h.preparing[from] == turn {
		delete(h.preparing, from)
	}
	h.mu.Unlock()
	close(turn)
}

func (v *visit) stop() {
	if v.session != nil {
		v.hall.vacate(v.session)
		close(v.session.over)
		v.session = nil
	}
}

// leave is also what a sender does that is killed. Its connections end with it; a
// session without any, of a UDP sender, ends here.
func (v *visit) leave() {
	if v.session == nil {
		v.release()
		return
	}
	if len(v.session.fleet.all()) == 0 {
		v.hall.vacate(v.session)
	}
	close(v.session.lost)
}
