package control

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var wire = &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "wire0", Index: 7}}

// TestNeighboursUnread: a table that cannot be read is an error, for without it the tables stay as they are;
// it is not taken for one without entries, which would cut all tunnels off.
func TestNeighboursUnread(t *testing.T) {
	for _, bad := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		entries, err := entriesOf(wire, func(_, family int) ([]netlink.Neigh, error) {
			if family == bad {
				return nil, unix.ENOBUFS
			}
			return []netlink.Neigh{{IP: net.IPv4(10, 0, 0, 2)}}, nil
		})
		if !errors.Is(err, unix.ENOBUFS) || entries != nil {
			t.Errorf("family %d: %v, %v", bad, entries, err)
		}
	}
}

// TestInterruptedList: a list that something changed while it was read is read again, and what changes
// without end is taken as it is.
func TestInterruptedList(t *testing.T) {
	tries, other := 0, netip.MustParseAddr("10.0.0.2")
	entries, err := entriesOf(wire, func(_, family int) ([]netlink.Neigh, error) {
		if tries++; tries < 3 {
			return nil, netlink.ErrDumpInterrupted
		}
		return []netlink.Neigh{{IP: other.AsSlice()}}, nil
	})
	if _, ok := entries[other]; err != nil || !ok {
		t.Errorf("%v, %v", entries, err)
	}
	tries = 0
	all, err := whole(func() ([]int, error) { tries++; return []int{tries}, netlink.ErrDumpInterrupted })
	if err != nil || len(all) != 1 || tries < 2 {
		t.Errorf("%v after %d tries, %v", all, tries, err)
	}
}
