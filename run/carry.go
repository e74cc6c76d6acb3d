package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"windtunnel/result"
)

// carriages are the connections by which ends at ports of poll mode meet that are on two hosts: they have no stack that could join
// them, and no Unix socket that both see, so what either says goes by the hosts' own control connections.
type carriages struct{ all []*carriage }

// carriage is one of them.
type carriage struct {
	cell     string
	from, to Node   // of the sender and of the receiver
	here     string // the meeting that the sender is told, and
	there    string // that of which the receiver told
	cancel   context.CancelFunc
	loops    sync.WaitGroup
}

// onTwoHosts tells whether the ends of a pair are at ports on two real hosts.
func onTwoHosts(g Graph, pair result.Pair) bool {
	from, _ := g.Node(pair.From.Node)
	to, _ := g.Node(pair.To.Node)
	if pair.From.Node == pair.To.Node || from.NIC == nil || to.NIC == nil {
		return false
	}
	for _, p := range g.Ports {
		if p.Place == pair.To.Name() {
			return true
		}
	}
	return false
}

// meet returns the address that a pair's sender is told, given the one that its receiver is reached at: another one if the connection has to
// be carried, as it then is until end.
func (c *Conductor) meet(ctx context.Context, cell PlannedCell, pair result.Pair, address string, all *carriages) (string, error) {
	if !onTwoHosts(cell.Laid.Graph, pair) {
		return address, nil
	}
	k := &carriage{cell: cell.Record.Name, from: c.node(pair.From.Node), to: c.node(pair.To.Node), there: address}
	var err error
	if k.here, err = k.from.Meet(ctx, k.cell, address); err != nil {
		return "", fmt.Errorf("having the sender meet a receiver on another host: %w", err)
	}
	ctx, k.cancel = context.WithCancel(ctx)
	all.all = append(all.all, k)
	k.loops.Go(func() { k.serve(ctx) })
	return k.here, nil
}

// serve carries both ways, until either end is through. The sender speaks first, and the receiver's end is there from then on.
func (k *carriage) serve(ctx context.Context) {
	var back sync.WaitGroup
	defer back.Wait()
	spoken := false
	for {
		said, err := k.from.Carry(ctx, k.cell, Carry{Address: k.here})
		if err == nil && len(said.Bytes) > 0 {
			err = k.tell(ctx, k.to, k.there, said.Bytes)
		}
		if err != nil || said.Ended || ctx.Err() != nil {
			k.through(ctx)
			return
		}
		switch {
		case len(said.Bytes) == 0:
			rest(ctx)
		case !spoken:
			spoken = true
			back.Go(func() { k.answer(ctx) })
		}
	}
}

// answer carries what the receiver says.
func (k *carriage) answer(ctx context.Context) {
	for {
		said, err := k.to.Carry(ctx, k.cell, Carry{Address: k.there})
		if err == nil && len(said.Bytes) > 0 {
			err = k.tell(ctx, k.from, k.here, said.Bytes)
		}
		if err != nil || said.Ended || ctx.Err() != nil {
			k.through(ctx)
			return
		}
		if len(said.Bytes) == 0 {
			rest(ctx)
		}
	}
}

// nothingRest is how long nobody asks an end again that had nothing to say, however soon it says so.
const nothingRest = 50 * time.Millisecond

func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(nothingRest):
	}
}

var errThrough = errors.New("the other end is through")

func (k *carriage) tell(ctx context.Context, node Node, address string, bytes []byte) error {
	said, err := node.Carry(ctx, k.cell, Carry{Address: address, Bytes: bytes})
	if err == nil && said.Ended {
		return errThrough
	}
	return err
}

// through has both ends hang up. An agent that does not hear of it does so with the cell.
func (k *carriage) through(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	var telling sync.WaitGroup
	for address, node := range map[string]Node{k.here: k.from, k.there: k.to} {
		telling.Go(func() { _, _ = node.Carry(ctx, k.cell, Carry{Address: address, Ended: true}) })
	}
	telling.Wait()
}

// end ends all of them, and waits for that.
func (all *carriages) end() {
	for _, k := range all.all {
		k.cancel()
	}
	for _, k := range all.all {
		k.loops.Wait()
	}
	all.all = nil
}
