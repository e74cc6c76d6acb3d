package iperf3

import (
	"context"
	"errors"
	"sync"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Server answers iperf3's clients, many at once.
type Server struct {
	Port int // 0: DefaultPort; <0: any free one
}

var _ traffic.Server = Server{}

// Name returns "iperf3".
func (Server) Name() string { return "iperf3" }

// Ports returns "5201", which is TCP and UDP.
func (Server) Ports() string { return "5201" }

// Serve answers clients within the bounds of config until ctx ends.
func (s Server) Serve(ctx context.Context, config traffic.ServerConfig) error {
	var one sync.Mutex
	tell := func(e traffic.ServerEvent) {
		if config.Event == nil {
			return
		}
		one.Lock()
		defer one.Unlock()
		e.Protocol = s.Name()
		config.Event(e)
	}
	o := ServerOptions{
		Host: config.Host, Port: s.Port, CPUs: config.CPUs,
		MaxClients: config.MaxClients, MaxBytes: config.MaxBytes, MaxTime: config.MaxTime,
		Refused: func(client string, why error) {
			tell(traffic.ServerEvent{Client: client, What: traffic.SessionRefused, Says: why.Error()})
		},
	}
	if config.Ready != nil {
		o.Ready = func(address string) { config.Ready([]string{address}) }
	}
	return Serve(ctx, o, func(session uint64, client string) Observer {
		return &sessionEvents{tell: func(what, says string, v *result.Interval, e *result.PairEnd) {
			tell(traffic.ServerEvent{Session: session, Client: client, What: what, Says: says, Interval: v, End: e})
		}}
	})
}

// sessionEvents tells a session as events of a traffic.Server.
type sessionEvents struct {
	tell  func(what, says string, v *result.Interval, e *result.PairEnd)
	start Start
	begun bool
	ended bool
	end   *result.PairEnd // of a session that was cut short: Failed tells it
}

func (e *sessionEvents) Connected(s Start) {
	e.start, e.begun = s, true
	e.tell(traffic.SessionBegan, s.Test.String(), nil, nil)
}

func (e *sessionEvents) Interval(v Interval) {
	if !v.Omitted {
		sum := v.sum()
		e.tell(traffic.SessionInterval, "", &sum, nil)
	}
}

func (e *sessionEvents) Ended(end End) {
	pair := end.pair(e.start)
	if end.Partial {
		e.end = &pair
		return
	}
	e.ended = true
	e.tell(traffic.SessionEnded, "", nil, &pair)
}

// Failed is passed over where the session has ended: that the client did not take its
// results any more changes none.
func (e *sessionEvents) Failed(err error) {
	if e.ended {
		return
	}
	what := traffic.SessionFailed
	if !e.begun && (NumberOf(err) != 0 || errors.Is(err, errAskBytes)) {
		what = traffic.SessionRefused
	}
	if e.end != nil {
		e.end.Error = err.Error()
	}
	e.tell(what, err.Error(), nil, e.end)
}
