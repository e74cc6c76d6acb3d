package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// end is a node with one end of a connection: what its worker says, in turn, and what it heard. The methods of a Node that it
// has not are not to be called.
type end struct {
	Node
	name string

	mu    sync.Mutex
	says  []string
	heard []string
	ended bool
	asked []string // the addresses
}

func (e *end) Name() string { return e.name }

func (e *end) Meet(_ context.Context, _, address string) (string, error) {
	m, err := traffic.ParseMeeting(address)
	m.Socket, m.Carried = "/here", true
	return m.String(), err
}

// Carry answers as an agent does, a hearer's end after it was spoken to.
func (e *end) Carry(ctx context.Context, _ string, c Carry) (Carry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.asked, c.Address) {
		e.asked = append(e.asked, c.Address)
	}
	switch {
	case e.ended || c.Ended:
		e.ended = true
		return Carry{Ended: true}, nil
	case len(c.Bytes) > 0:
		e.heard = append(e.heard, string(c.Bytes))
		return Carry{}, nil
	case len(e.says) == 0 || strings.HasPrefix(e.says[0], "answer") && len(e.heard) == 0:
		return Carry{}, ctx.Err()
	case e.says[0] == "bye":
		e.ended = true
		return Carry{Ended: true}, nil
	}
	said := e.says[0]
	e.says = e.says[1:]
	return Carry{Bytes: []byte(said)}, nil
}

// apartCell is one of two hosts' ports.
func apartCell() (PlannedCell, result.Pair) {
	pair := result.Pair{From: result.Place{Container: "s", Node: "a"}, To: result.Place{Container: "r", Node: "b"}}
	g := Graph{Cell: "A", Nodes: []testbed.Node{{Name: "a", NIC: &NIC{}}, {Name: "b", NIC: &NIC{}}},
		Containers: []testbed.Container{{Name: "s", Node: "a"}, {Name: "r", Node: "b"}}, Ports: []testbed.Port{{Place: "s"}, {Place: "r"}}}
	return PlannedCell{Record: result.Cell{Name: "A", Pairs: []result.Pair{pair}}, Laid: datapath.Laid{Graph: g}}, pair
}

func TestEndsMeetByTheConductor(t *testing.T) {
	cell, pair := apartCell()
	a, b := &end{name: "a", says: []string{"hello", "final", "bye"}}, &end{name: "b", says: []string{"answer"}}
	c := Conductor{Nodes: []Node{a, b}}
	var all carriages
	told, err := c.meet(t.Context(), cell, pair, "172.16.0.22:20000@/there", &all)
	if err != nil || told != "172.16.0.22:20000@carried:/here" {
		t.Fatalf("%q, %v", told, err)
	}
	all.all[0].loops.Wait() // until the sender is through
	all.end()
	if !slices.Equal(b.heard, []string{"hello", "final"}) || !slices.Equal(b.asked, []string{"172.16.0.22:20000@/there"}) || !b.ended || !a.ended {
		t.Errorf("%+v\n%+v", a, b)
	}
	if len(a.heard) > 1 || len(a.heard) == 1 && a.heard[0] != "answer" {
		t.Errorf("%+v", a)
	}
}

// TestCarriagesEnd also if neither end ever says anything.
func TestCarriagesEnd(t *testing.T) {
	cell, pair := apartCell()
	a, b := &end{name: "a"}, &end{name: "b"}
	c := Conductor{Nodes: []Node{a, b}}
	var all carriages
	if _, err := c.meet(t.Context(), cell, pair, "172.16.0.22:20000@/there", &all); err != nil {
		t.Fatal(err)
	}
	all.end()
	if !a.ended || !b.ended {
		t.Errorf("%+v, %+v", a, b)
	}
}

// gone is a node that does not answer any more.
type gone struct{ *end }

func (gone) Carry(context.Context, string, Carry) (Carry, error) {
	return Carry{}, errors.New("it ended")
}

func TestCarriagesOfALostNodeEnd(t *testing.T) {
	cell, pair := apartCell()
	a := &end{name: "a", says: []string{"hello"}}
	c := Conductor{Nodes: []Node{a, gone{&end{name: "b"}}}}
	var all carriages
	if _, err := c.meet(t.Context(), cell, pair, "172.16.0.22:20000@/there", &all); err != nil {
		t.Fatal(err)
	}
	all.all[0].loops.Wait()
	all.end()
	if !a.ended {
		t.Errorf("%+v", a)
	}
}

// TestPortsThatSeeEachOther are reached as their receivers tell.
func TestPortsThatSeeEachOther(t *testing.T) {
	cell, pair := apartCell()
	cell.Laid.Graph.Nodes[0].NIC = nil // simulated
	var all carriages
	if told, err := new(Conductor).meet(t.Context(), cell, pair, "x@/there", &all); told != "x@/there" || err != nil || len(all.all) > 0 {
		t.Errorf("%q, %v, %+v", told, err, all)
	}
}
