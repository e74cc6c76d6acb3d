package lobby

import "slices"

// maxGroups bounds the senders that are let wait for their last flow; the oldest makes
// way.
const maxGroups = 16

// Token names the flows of one sender.
type Token [16]byte

// Lobby is the senders that wait for their last flow. A is what a sender's flows have to
// agree on, and F is how a flow is reached. Its zero value is ready.
type Lobby[A comparable, F any] struct {
	groups []*Group[A, F] // oldest first
	turned Token          // the last sender that was turned away; zero: none
}

// Group is the flows of one sender. Flows has a place for each.
type Group[A comparable, F any] struct {
	Token Token
	About A
	Flows []F
	in    []bool
	count int
}

// Join adds the index-th of so many flows to its group. It returns the group, nil if the
// flow contradicts it, and the flows of a group that had to make way.
func (y *Lobby[A, F]) Join(token Token, about A, index, total int, flow F) (g *Group[A, F], gone []F) {
	g = y.Find(token)
	if g == nil {
		if len(y.groups) == maxGroups {
			gone = y.groups[0].Present()
			y.groups = y.groups[1:]
		}
		g = &Group[A, F]{Token: token, About: about, Flows: make([]F, total), in: make([]bool, total)}
		y.groups = append(y.groups, g)
	}
	if g.About != about || len(g.Flows) != total || g.in[index] {
		return nil, gone
	}
	g.Flows[index], g.in[index] = flow, true
	g.count++
	return g, gone
}

// Find returns the group of that name, nil when there is none.
func (y *Lobby[A, F]) Find(token Token) *Group[A, F] {
	i := slices.IndexFunc(y.groups, func(g *Group[A, F]) bool { return g.Token == token })
	if i < 0 {
		return nil
	}
	return y.groups[i]
}

// TurnAway takes a sender's group out of the lobby, for want of something that all of its flows need, and returns those that have come.
func (y *Lobby[A, F]) TurnAway(token Token) (gone []F) {
	y.turned = token
	y.groups = slices.DeleteFunc(y.groups, func(g *Group[A, F]) bool {
		if g.Token == token {
			gone = g.Present()
		}
		return g.Token == token
	})
	return gone
}

// TurnedAway tells whether a flow comes only after its sender, the last one of those, was turned away.
func (y *Lobby[A, F]) TurnedAway(token Token) bool { return token == y.turned && token != Token{} }

// Clear empties the lobby and returns all flows but those of one group.
func (y *Lobby[A, F]) Clear(kept *Group[A, F]) (gone []F) {
	for _, g := range y.groups {
		if g != kept {
			gone = append(gone, g.Present()...)
		}
	}
	y.groups = nil
	return gone
}

// Complete reports whether all flows have come.
func (g *Group[A, F]) Complete() bool { return g.count == len(g.Flows) }

// In reports whether the index-th flow has come.
func (g *Group[A, F]) In(index int) bool { return index < len(g.in) && g.in[index] }

// Present are the flows that have come.
func (g *Group[A, F]) Present() []F {
	var all []F
	for i, flow := range g.Flows {
		if g.in[i] {
			all = append(all, flow)
		}
	}
	return all
}
