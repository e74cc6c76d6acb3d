package ntttcp

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// The tools by what they do first. Nothing of either's data says whose it is, so two senders of one host are told apart by that.
type tool string

const (
	forLinux   tool = "ntttcp-for-linux"   // it asks, opens its connections, and sends nothing before the word to go
	forWindows tool = "NTttcp for Windows" // it opens its connections, sends a token for each port, and nothing before it has the last one back
	eitherTool tool = "without sync"       // it sends at once
)

// doubt notes what of a session may be another sender's of its host; the end tells it.
func (s *session) doubt(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts = append(s.doubts, fmt.Sprintf(format, args...))
}

// says is how it ended, and what is doubtful of it.
func (s *session) says(why string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for _, d := range s.doubts {
		if !seen[d] {
			why += "; " + d
		}
		seen[d] = true
	}
	return why
}

// doubtCounts looks at how many connections came to each port: of a sender of ntttcp-for-linux they are as many (-n and -l) to each of its
// ports.
func (s *session) doubtCounts() {
	if s.fleet == nil || s.tool != forLinux {
		return
	}
	perThread := map[int]int{}
	for _, c := range s.fleet.all() {
		for _, thread := range c.threads {
			perThread[thread]++
		}
	}
	numbers := slices.Sorted(maps.Values(perThread))
	if len(numbers) > 0 && numbers[0] != numbers[len(numbers)-1] {
		s.doubt("%d to %d connections came to its ports, and a sender of %s has as many to each: another sender of this host may be among them", numbers[0], numbers[len(numbers)-1], s.tool)
	}
}

// doubtLate is of connections that joined a session of which all had come, later than they lie in a queue.
func (s *session) doubtLate(guests []guest) {
	late := 0
	for _, g := range guests {
		if s.whole && g.came.Sub(s.began) > settling {
			late++
		}
	}
	if late > 0 {
		s.doubt("%s came later than those that its sender said it has, and may be another sender's of this host", plural(late, "connection"))
	}
}

// outsiders are those guests of a host that a caller cannot have opened, who sends nothing before the word to go and no tokens: they
// speak already, or a token has come for the only connection that lies at its port. Where several lie there nobody knows which is whose.
func (h *hall) outsiders(v *visit) (theirs map[guest]bool, mixed bool) {
	at := map[int][]guest{}
	for _, g := range h.lobby.present() {
		if g.from == v.from {
			at[g.thread] = append(at[g.thread], g)
		}
	}
	tokens, taken := h.tokensOf(v.from)
	theirs, mixed = map[guest]bool{}, taken.After(v.since)
	for thread, guests := range at {
		for _, g := range guests {
			came := tokens[thread]
			its := came.After(g.came)
			if theirs[g] = speaks(g.conn) || its && len(guests) == 1; !theirs[g] && its && came.After(v.since) {
				mixed = true
			}
		}
	}
	return theirs, mixed
}

// tokensOf is when those tokens of a host came, by thread, that have no connection yet, and when one last had to be taken out of several.
func (h *hall) tokensOf(host netip.Addr) (tokens map[int]time.Time, mixed time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tokens = map[int]time.Time{}
	if a := h.arriving[host]; a != nil {
		for thread, came := range a.tokens {
			if !a.taken[thread] {
				tokens[thread] = came
			}
		}
	}
	return tokens, h.mixed[host]
}

// takeTokens notes that these connections had some of their host's tokens.
func (h *hall) takeTokens(from netip.Addr, guests []guest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.arriving[from]; a != nil {
		for _, g := range guests {
			if a.tokens[g.thread].After(g.came) {
				a.taken[g.thread] = true
			}
		}
	}
}

// arrivals are the connections that a host's tokens came for. While a caller of the same host opens its own, one at most is each token's,
// the newest before it, as a sender's token follows its connection; mixed, if others lay there.
func (h *hall) arrivals(from netip.Addr) (theirs map[guest]bool, mixed bool) {
	tokens, _ := h.tokensOf(from)
	h.mu.Lock()
	shared := h.preparing[from] != nil
	h.mu.Unlock()
	theirs = map[guest]bool{}
	newest := map[int]guest{}
	for _, g := range h.lobby.present() { // the oldest first
		if g.from != from || tokens[g.thread].Before(g.came) || g.look.offered.Load() {
			continue
		}
		if older, lies := newest[g.thread]; lies && shared {
			delete(theirs, older)
			mixed = true
		}
		newest[g.thread], theirs[g] = g, true
	}
	if mixed {
		h.mu.Lock()
		h.mixed[from] = time.Now()
		h.mu.Unlock()
	}
	return theirs, mixed
}

// doubtToken is of a token whose connection has begun to be another session's: nobody waits at its port.
func (h *hall) doubtToken(from netip.Addr, thread int) {
	for _, g := range h.lobby.present() {
		if g.from == from && g.thread == thread {
			return
		}
	}
	s := h.youngest(from, func(s *session) bool { return s.tool != forWindows && s.has([]guest{{thread: thread}}) })
	if s != nil {
		s.doubt("a token of %s came for a port of this session: another sender of this host may be among its connections", forWindows)
	}
}
