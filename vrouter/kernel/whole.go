package kernel

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// wholeTries is how often a list is asked for that changes again and again.
const wholeTries = 10

// Whole gives the kernel's list of something. It comes in parts, and may lack entries or have some twice if
// something came or went in between (NLM_F_DUMP_INTR), even such that are always there: then it is asked
// for anew. If that happens each time, the list is the last one, and the error is [netlink.ErrDumpInterrupted].
func Whole[T any](list func() ([]T, error)) (all []T, err error) {
	for range wholeTries {
		if all, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, err
		}
	}
	return all, err
}
