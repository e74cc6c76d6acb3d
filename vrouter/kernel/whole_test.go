package kernel

import (
	"errors"
	"io"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestWhole: a list that changed while it was read is read anew, but not for ever; any other error is one at once.
func TestWhole(t *testing.T) {
	for interrupted, want := range map[int]struct {
		asked int
		err   error
	}{0: {1, io.EOF}, 3: {4, io.EOF}, 100: {wholeTries, netlink.ErrDumpInterrupted}} {
		asked := 0
		all, err := Whole(func() ([]int, error) {
			if asked++; asked <= interrupted {
				return []int{asked}, netlink.ErrDumpInterrupted
			}
			return []int{asked}, io.EOF
		})
		if asked != want.asked || !errors.Is(err, want.err) || len(all) != 1 || all[0] != asked {
			t.Errorf("interrupted %d times, it was asked %d times: %v, %v", interrupted, asked, all, err)
		}
	}
}
