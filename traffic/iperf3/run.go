package iperf3

import (
	"context"
	"errors"
)

// Run is a client's test from connect to the exchanged results. It returns what
// observer.Failed is told, or nil. When ctx ends, the server is told so and what
// there is until then is reported (ErrInterrupted).
func Run(ctx context.Context, o Options, observer Observer) error {
	return errors.ErrUnsupported
}

// Serve listens and answers clients until ctx ends, or as OneOff and IdleTimeout
// say; then it tells the clients and frees everything. observe makes an Observer
// for each session, before its Connected; what a client does costs that client
// alone. An error means that it could not listen; IdleTimeout gives ErrIdle.
func Serve(ctx context.Context, o ServerOptions, observe func(session uint64, client string) Observer) error {
	return errors.ErrUnsupported
}
