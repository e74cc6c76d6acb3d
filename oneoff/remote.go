package oneoff

import (
	"errors"
	"fmt"
	"io"

	"windtunnel/result"
)

// remote is the receiver, as its sender hears it in a measurement.
type remote struct {
	wire      *wire
	intervals func(result.Interval) // does not wait: who shows them may, and the last line comes in time
	broken    func(error)           // ends the measurement here

	end *result.PairEnd // after listen
	err error
}

// listen takes the receiver's lines up to its last.
func (r *remote) listen() {
	for {
		var said reply
		if err := r.wire.read(&said, 0); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it went away")
			}
			r.fail(fmt.Errorf("the receiver: %w", err))
			return
		}
		if said.End != nil {
			said.End.Clean()
			if what := impossible(*said.End); what != "" {
				r.fail(fmt.Errorf("the receiver tells what cannot be: %s", what))
				return
			}
		}
		if said.Interval != nil {
			if what := impossibleInterval(*said.Interval); what != "" {
				r.fail(fmt.Errorf("the receiver tells what cannot be: %s", what))
				return
			}
		}
		switch {
		case said.Say == sayInterval && said.Interval != nil:
			r.intervals(*said.Interval)
		case said.Say == sayEnd && said.End != nil:
			r.end = said.End
			return
		case said.Say == sayEnd:
			r.fail(errors.New("the receiver ended without its result"))
			return
		default:
			r.end = said.End
			r.fail(fmt.Errorf("the receiver says %s: %s", result.Clean(result.Clip(said.Say)), clipLong(said.Why)))
			return
		}
	}
}

func (r *remote) fail(err error) {
	r.err = err
	r.broken(err)
}
