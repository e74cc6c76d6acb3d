package config

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"windtunnel/vrouter/core"
)

// A trie collects a VRF's routes.
type trie struct{ routes []prefixRoute }

type prefixRoute struct {
	prefix netip.Prefix
	route  core.Route
}

func (t *trie) add(prefix netip.Prefix, route core.Route) {
	t.routes = append(t.routes, prefixRoute{prefix, route})
}

// A trieNode is a block that has no number yet. Where there is a child, its leaf is unused.
type trieNode struct {
	leaves   [core.TrieStride]core.Route
	children map[int]*trieNode
}

// root builds the tree, or nil without routes. Short prefixes go first, so that longer ones
// overwrite what they claim.
func (t *trie) root() *trieNode {
	if len(t.routes) == 0 {
		return nil
	}
	slices.SortStableFunc(t.routes, func(a, b prefixRoute) int { return a.prefix.Bits() - b.prefix.Bits() })
	root := &trieNode{}
	for _, r := range t.routes {
		root.insert(r, 0)
	}
	return root
}

// insert puts a route into the block of the given depth: 0 has the address's first eight bits.
func (n *trieNode) insert(r prefixRoute, depth int) {
	at := int(r.prefix.Addr().As4()[depth])
	left := r.prefix.Bits() - 8*depth
	if left > 8 {
		n.child(at).insert(r, depth+1)
		return
	}
	for i := at; i < at+1<<(8-left); i++ {
		n.leaves[i] = r.route
	}
}

// child makes room for longer prefixes; what the shorter ones claimed there stays theirs.
func (n *trieNode) child(at int) *trieNode {
	if c := n.children[at]; c != nil {
		return c
	}
	c := &trieNode{}
	for i := range c.leaves {
		c.leaves[i] = n.leaves[at]
	}
	if n.children == nil {
		n.children = make(map[int]*trieNode)
	}
	n.children[at] = c
	return c
}

// equal tells whether the tree is what the tables hold under a block already.
func (n *trieNode) equal(blocks map[uint32]*Block, number uint32) bool {
	block := blocks[number]
	if n == nil || block == nil {
		return n == nil && block == nil
	}
	for i, entry := range block {
		child := n.children[i]
		if (child != nil) != (entry&core.RouteChild != 0) {
			return false
		}
		if child == nil && entry != n.leaves[i] || child != nil && !child.equal(blocks, entry.Ref()) {
			return false
		}
	}
	return true
}

// place numbers the tree's blocks with numbers that are not used, and marks them so.
func (n *trieNode) place(used map[uint32]bool, into map[uint32]*Block, number *uint32) error {
	if n == nil {
		return nil
	}
	free := uint32(1)
	for used[free] {
		free++
	}
	if free >= core.MaxTrieBlocks {
		return fmt.Errorf("the route tables are full: %d blocks, counting those that are being replaced", core.MaxTrieBlocks-1)
	}
	used[free] = true
	block := Block(n.leaves)
	for at, child := range n.children {
		var below uint32
		if err := child.place(used, into, &below); err != nil {
			return err
		}
		block[at] = core.RouteChild | core.Route(below)
	}
	into[free], *number = &block, free
	return nil
}

// keep copies the blocks under a root from one image to another.
func keep(from map[uint32]*Block, number uint32, into map[uint32]*Block) {
	block := from[number]
	if block == nil {
		return
	}
	into[number] = block
	for _, entry := range block {
		if entry&core.RouteChild != 0 {
			keep(from, entry.Ref(), into)
		}
	}
}

// Lookup finds the route of an address in a VRF as the data path does; 0 if there is none.
func (m Image) Lookup(vrf uint32, address netip.Addr) core.Route {
	number := m.VRFs[vrf].Root
	for _, b := range address.As4() {
		block := m.Blocks[number]
		if block == nil {
			return 0
		}
		if block[b]&core.RouteChild == 0 {
			return block[b]
		}
		number = block[b].Ref()
	}
	return 0
}

// RouteEntry is one route of a table, for reading.
type RouteEntry struct {
	Prefix netip.Prefix
	Route  core.Route
}

// Routes lists a VRF's routes, each prefix once, in the order of their addresses. A prefix that
// longer ones cover wholly leaves no trace in the tables, so it is not among them.
func (m Image) Routes(vrf uint32) []RouteEntry {
	seen := make(map[netip.Prefix]bool)
	var list []RouteEntry
	m.walk(m.VRFs[vrf].Root, 0, 0, func(address uint32, route core.Route) {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], address)
		prefix, err := netip.AddrFrom4(b).Prefix(route.PrefixBits())
		if err == nil && !seen[prefix] {
			seen[prefix] = true
			list = append(list, RouteEntry{prefix, route})
		}
	})
	return list
}

func (m Image) walk(number, address uint32, depth int, each func(uint32, core.Route)) {
	block := m.Blocks[number]
	if block == nil || depth > 3 {
		return
	}
	for i, entry := range block {
		at := address | uint32(i)<<(24-8*depth)
		if entry&core.RouteChild != 0 {
			m.walk(entry.Ref(), at, depth+1, each)
		} else if entry != 0 {
			each(at, entry)
		}
	}
}
