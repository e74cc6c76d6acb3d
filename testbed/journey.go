package testbed

import (
	"fmt"
	"slices"
	"strings"
)

// View is a network stack that was looked at, by the name that a drawing gives it.
type View struct {
	Name string // PLACE web, HOST
	Seen
}

// Journey draws what lies between two places, as far as the views show it: one line for each interface that packets
// pass, from the device by which they leave the first place to the one by which they reach the second. Places are
// indexes of views. Where a part is in no view, it says so.
func Journey(views []View, from int, leaves string, to int, arrives string) string {
	m := atlas{views: views, ends: map[int]string{from: leaves, to: arrives}}
	m.chart()
	var b strings.Builder
	in := -1
	for _, s := range m.shortest(stop{view: from}, stop{view: to}) {
		if s.view >= 0 && s.view != in {
			fmt.Fprintf(&b, "%s\n", views[s.view].Name)
			in = s.view
		}
		if line := m.line(s, from, to); line != "" {
			b.WriteString("  | " + line + "\n")
		}
	}
	for i, v := range views {
		if v.More > 0 {
			fmt.Fprintf(&b, "(%s has %d interfaces more than were read)\n", views[i].Name, v.More)
		}
	}
	return b.String()
}

// stop is where a packet comes by: a link of a view, the IP layer of a view (link 0), or what no view shows.
type stop struct{ view, link int }

// The stops that are in no view.
var (
	theNetwork = stop{-1, 1} // between machines
	unseen     = stop{-1, 2} // a stack that nobody entered
)

// What a step costs: a journey goes by switches rather than by routers, and within the views rather than beyond.
const (
	stepLink    = 1
	stepRouted  = 10
	stepNetwork = 100
	stepUnseen  = 1000
)

// atlas is all that packets could pass, as a weighted graph.
type atlas struct {
	views []View
	ends  map[int]string // the devices of the places, by view
	roads map[stop]map[stop]int
}

func (m *atlas) road(a, b stop, cost int) {
	for _, way := range [][2]stop{{a, b}, {b, a}} {
		if m.roads[way[0]] == nil {
			m.roads[way[0]] = map[stop]int{}
		}
		if old, known := m.roads[way[0]][way[1]]; !known || cost < old {
			m.roads[way[0]][way[1]] = cost
		}
	}
}

func (m *atlas) chart() {
	m.roads = map[stop]map[stop]int{}
	for v, view := range m.views {
		for _, link := range view.Links {
			if link.Up && link.Name != "lo" {
				m.chartLink(v, link)
			}
		}
	}
}

// chartLink adds the roads of a link.
func (m *atlas) chartLink(v int, link SeenLink) {
	here := stop{v, link.Index}
	if device, isEnd := m.ends[v]; !isEnd || device == "" || device == link.Name {
		switch {
		case len(link.Addresses) > 0:
			m.road(here, stop{view: v}, stepRouted)
		case link.Master == 0: // reached by a route alone, as some networks of containers do it
			m.road(here, stop{view: v}, stepRouted+2)
		}
	}
	if link.Master > 0 {
		m.road(here, stop{v, link.Master}, stepLink)
	}
	switch other, found := m.parent(v, link); {
	case found:
		m.road(here, other, stepLink)
	case link.Elsewhere:
		m.road(here, unseen, stepUnseen)
	case link.Kind == "device":
		m.road(here, theNetwork, stepNetwork)
	case link.Detail != "" && link.Kind != "bridge" && link.Kind != "bond": // a tunnel, which the IP layer carries on
		m.road(here, stop{view: v}, stepRouted)
	}
}

// parent is the other end of a virtual pair, or what a link stands on.
func (m *atlas) parent(v int, link SeenLink) (stop, bool) {
	if link.Parent == 0 {
		return stop{}, false
	}
	if !link.Elsewhere {
		return stop{v, link.Parent}, true
	}
	var found []stop
	for w, view := range m.views {
		if w == v || view.Machine != m.views[v].Machine || view.Machine == "" {
			continue
		}
		for _, other := range view.Links {
			pair := link.Kind != "veth" || other.Kind == "veth" && other.Parent == link.Index && other.Elsewhere
			if other.Index == link.Parent && pair {
				found = append(found, stop{w, other.Index})
			}
		}
	}
	if len(found) != 1 {
		return stop{}, false // indexes are each stack's own, so two that fit tell nothing
	}
	return found[0], true
}

// shortest is the cheapest journey, by Dijkstra's algorithm; nil if there is none.
func (m *atlas) shortest(from, to stop) []stop {
	cost, before, done := map[stop]int{from: 0}, map[stop]stop{}, map[stop]bool{}
	for {
		next, found := stop{}, false
		for s, c := range cost {
			if !done[s] && (!found || c < cost[next] || c == cost[next] && less(s, next)) {
				next, found = s, true
			}
		}
		if !found {
			return nil
		}
		if next == to {
			break
		}
		done[next] = true
		for s, step := range m.roads[next] {
			if old, known := cost[s]; !known || cost[next]+step < old {
				cost[s], before[s] = cost[next]+step, next
			}
		}
	}
	all := []stop{to}
	for all[0] != from {
		all = slices.Insert(all, 0, before[all[0]])
	}
	return all
}

func less(a, b stop) bool { return a.view < b.view || a.view == b.view && a.link < b.link }

// line describes a stop; the places' own IP layers go without saying.
func (m *atlas) line(s stop, from, to int) string {
	switch {
	case s == theNetwork:
		return "~~ the network between the machines ~~"
	case s == unseen:
		return "?? a network stack that was not looked into"
	case s.link == 0 && (s.view == from || s.view == to):
		return ""
	case s.link == 0:
		return "(routed by this stack)"
	}
	links := m.views[s.view].Links
	i := slices.IndexFunc(links, func(l SeenLink) bool { return l.Index == s.link })
	if i < 0 {
		return fmt.Sprintf("interface %d, which was not read", s.link)
	}
	return links[i].describe()
}

// describe is a link in words.
func (l SeenLink) describe() string {
	kind := l.Kind
	switch {
	case kind == "openvswitch":
		kind = "Open vSwitch"
	case kind == "device" && l.Driver != "":
		kind = "NIC, " + l.Driver
	}
	words := []string{kind}
	if l.Detail != "" {
		words = append(words, l.Detail)
	}
	words = append(words, l.Addresses...)
	words = append(words, fmt.Sprintf("MTU %d", l.MTU))
	text := fmt.Sprintf("%-15s %s", l.Name, strings.Join(words, ", "))
	if len(l.On) > 0 {
		text += "; on: " + strings.Join(l.On, " ")
	}
	if len(l.Off) > 0 {
		text += "; off: " + strings.Join(l.Off, " ")
	}
	if len(l.Programs) > 0 {
		text += "; BPF: " + strings.Join(l.Programs, ", ")
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 {
			return '?' // a stranger's words
		}
		return r
	}, text)
}
