package traffic

import "context"

// Renewed is a worker that another trial may have, so that a search's trials, of which each lasts half a second, need
// not each make anew what costs as much.
type Renewed interface {
	Worker
	// Renewable reports whether it can be: else it is closed after its Run, as any other.
	Renewable() bool
	// Renew readies it, after a Run without an error, for an order that differs from its own in nothing but the rate.
	// The receiver comes first, as in Prepare. Nothing of a trial is left for the next one: neither what was counted nor
	// numbers, and packets that come late are nobody's. After an error it can only be closed; another may be
	// prepared in its place.
	Renew(ctx context.Context, order Order) error
}
