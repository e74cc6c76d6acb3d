package command

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"windtunnel/traffic/iperf3"
)

// answer answers clients until ctx ends or -1 is done.
func (p *program) answer(ctx context.Context) int {
	p.greet()
	v := &sessions{program: p, stopped: ctx.Done(), interrupted: func() string { return interrupted(ctx, "server") }, live: map[uint64]*session{}, last: newBacklog()}
	defer v.last.close()
	options := p.server
	var ready sync.Once
	options.Ready = func(string) {
		ready.Do(func() {
			if p.told != "" {
				tellParent(p.told, listening)
			}
			v.banner()
		})
	}
	options.Refused = v.refused
	for {
		err := p.engine.serve(ctx, options, v.observe)
		v.last.wait()
		v.finishAll()
		switch {
		case ctx.Err() != nil:
			if !v.toldInterrupt() {
				p.screen.complain("%s", v.interrupted())
			}
			return exitDone
		case errors.Is(err, iperf3.ErrIdle) && !p.server.OneOff:
			continue // --idle-timeout: listen anew
		case err != nil && !errors.Is(err, iperf3.ErrIdle):
			return p.cannotListen(err)
		}
		return exitDone
	}
}

func (p *program) cannotListen(err error) int {
	if p.told != "" {
		tellParent(p.told, err.Error())
	}
	var option *iperf3.OptionError
	if errors.As(err, &option) {
		p.screen.complain("error - %s", says(err))
		return exitFailed
	}
	p.screen.complain("error - unable to start listener for connections: %v", err)
	return exitFailed
}

// sessions are a server's clients: those that are there, and how many there were.
type sessions struct {
	*program
	stopped     <-chan struct{} // closed when the server ends
	interrupted func() string   // how that is called
	mu          sync.Mutex
	live        map[uint64]*session
	seen        int
	told        bool // some session's JSON says how the server ended
	last        *backlog
}

// toldInterrupt tells whether how the server ended need not be told once more: iperf3's JSON is one object.
func (v *sessions) toldInterrupt() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.told
}

// banner says where the server listens, when nobody is being served.
func (v *sessions) banner() {
	if v.output.json || v.isStopped() {
		return
	}
	v.mu.Lock()
	number := v.seen + 1
	v.mu.Unlock()
	port := v.server.Port
	if port == 0 {
		port = iperf3.DefaultPort
	}
	v.screen.print("", banner)
	v.screen.print("", fmt.Sprintf("Server listening on %d (test #%d)\n", port, number))
	v.screen.print("", banner)
}

func (v *sessions) isStopped() bool {
	select {
	case <-v.stopped:
		return true
	default:
		return false
	}
}

func (v *sessions) refused(client string, why error) {
	v.screen.complain("error - the client %s was turned away: %s", client, says(why))
}

// observe makes the Observer of one client.
func (v *sessions) observe(number uint64, client string) iperf3.Observer {
	s := &session{all: v, number: number, client: client}
	if v.output.json {
		s.report = newReport(v.screen, v.output, true)
		s.report.session = number
	} else {
		s.text = newText(v.screen, v.output, s.mark)
	}
	return v.traced(s)
}

// finishAll ends the sessions that nobody ended.
func (v *sessions) finishAll() {
	v.mu.Lock()
	var left []*session
	for _, s := range v.live {
		left = append(left, s)
	}
	v.mu.Unlock()
	for _, s := range left {
		s.over("")
	}
}

func (v *sessions) enter(s *session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live[s.number] = s
	v.seen++
	s.test = v.seen
}

// leave takes a session out, once; idle tells that it was the last.
func (v *sessions) leave(s *session) (left, idle bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.live[s.number] != s {
		return false, false
	}
	delete(v.live, s.number)
	return true, len(v.live) == 0
}

// interrupt is what a session that the server's end cuts short is told; its JSON has that.
func (v *sessions) interrupt() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told = v.told || v.output.json
	return v.interrupted()
}

func (v *sessions) several() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.live) > 1
}
