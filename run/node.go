// Package run is the conductor, and the only one: it plans a suite, has its
// testbeds built and verified, runs blocks of trials in random order and writes
// the records. It knows a node only as the interface Node and time only as Clock.
package run

import (
	"context"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// The types of a Node's methods, by the names that its implementations outside
// this package use.
type (
	Graph     = testbed.Graph
	Probe     = proto.Probe
	Request   = proto.Request
	Start     = proto.Start
	NodeTrial = proto.NodeTrial
	Carry     = proto.Carry
	WorkerEnd = proto.WorkerEnd
	Order     = traffic.Order
)

// Node is a compute node: agent.Client is a real or simulated one, fake.Node a
// pretended one. A method may be called for several cells at once, but never
// twice at once for one cell, Stop excepted.
type Node interface {
	Name() string
	Fingerprint() result.Fingerprint
	// Place makes the stacks of the node's part of g; it returns where they are,
	// by place, for the peers of Apply.
	Place(ctx context.Context, g Graph) (map[string]string, error)
	// Apply makes the node's part of g live, by diff; a graph without nodes takes
	// the cell's testbed away. The nodes of a cell apply at once: the owner of a
	// wire makes it, the other waits for its end.
	Apply(ctx context.Context, g Graph, peers map[string]string) error
	// Verify compares what lives with g.
	Verify(ctx context.Context, g Graph) error
	// Found tells what container engines made of the cell by themselves, as text; "" without any.
	Found(ctx context.Context, cell string) (string, error)
	// Probe opens or tries one end of a check that a pair can talk.
	Probe(ctx context.Context, cell, place string, probe Probe) (address string, err error)
	// Prepare makes one end of a pair ready; the request's Pair, Place and Order
	// say which. It returns a receiver's address.
	Prepare(ctx context.Context, cell string, end Request) (address string, err error)
	// Calibrate tells how fast the generator of an order is by itself, in the place
	// where it will run; 0 where its kind cannot tell.
	Calibrate(ctx context.Context, cell, place string, order Order) (perSecond float64, err error)
	// Start runs the prepared ends of a cell and samples the node in the window.
	Start(ctx context.Context, cell string, start Start) error
	// Result waits for the trial's end.
	Result(ctx context.Context, cell string) (NodeTrial, error)
	// Meet has a sender at a port of the node's reach a receiver on another host, which told of its address, and
	// returns the one that the sender is to be told.
	Meet(ctx context.Context, cell, address string) (string, error)
	// Carry hands bytes of such a connection to its end on the node, or waits a while for what that says. It may be
	// called beside any other method.
	Carry(ctx context.Context, cell string, carry Carry) (Carry, error)
	// Stop drops what a cell has prepared or runs.
	Stop(ctx context.Context, cell string) error
}

// Clock tells the time; the fake's is virtual.
type Clock interface {
	Now() time.Time
}

// SystemClock is the real one.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }
