// Package existing is the path between places that run already: nothing of it is built or changed.
package existing

import (
	"windtunnel/datapath"
	"windtunnel/result"
)

// Path lays nothing.
type Path struct{}

var _ datapath.Path = Path{}

// Name is the suite's word.
func (Path) Name() string { return datapath.Existing }

// NotOverHosts says what to do instead.
func (Path) NotOverHosts() string {
	return "its places run already, and `--nodes` says where nodes are made: leave `--nodes` out"
}

// Says describes it.
func (Path) Says() string {
	return "what there is between places that run already, entered by `exec`: nothing is built or changed"
}

// Options are none.
func (Path) Options() []result.Option { return nil }

// Lay names the places. Their addresses are theirs to tell, so they are known when the places are entered.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if _, err := l.Processes(); err != nil {
		return datapath.Laid{}, err
	}
	if r.Segmentation == datapath.SegmentationOff {
		return datapath.Laid{}, l.Errorf("`segmentation: off` would change interfaces that are not ours: leave it out")
	}
	if r.Frames {
		return datapath.Laid{}, l.Errorf("raw frames take programs at interfaces that are not ours: take stream, datagram or ping")
	}
	l.Request.Wire.MTU = 0 // nobody knows what lies between
	laid, err := l.Finish(0)
	laid.Facts = map[string]string{datapath.FactEncapsulation: "not known"}
	return laid, err
}
