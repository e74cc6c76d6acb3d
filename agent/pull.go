//go:build linux

package agent

import (
	"context"
	"errors"
	"time"

	"windtunnel/result"
	"windtunnel/testbed"
)

// cable is one that this node pulls in every trial of a cell.
type cable struct {
	link, device string
	at           testbed.Pull
	set          func(down bool) error
}

// cables are those of a cell that end on this node.
func (n *node) cables(cell string) []cable {
	var all []cable
	for _, l := range n.graph(cell).Links {
		if l.Pull == nil || l.Pull.Node != n.config.Name {
			continue
		}
		for _, end := range l.Ends {
			if end.Place == n.config.Name {
				all = append(all, cable{l.Name, end.Device, *l.Pull, func(down bool) error {
					return n.config.Backend.Pull(cell, end.Place, end.Device, down)
				}})
			}
		}
	}
	return all
}

// pulled is what was pulled, and what went wrong.
type pulled struct {
	all []result.Pull
	err error
}

// pullAll pulls the cables and plugs them in again, also when the trial is cut off.
func pullAll(ctx context.Context, cables []cable, opens time.Time, window time.Duration) (p pulled) {
	since := func() float64 { return time.Since(opens).Seconds() }
	for _, c := range cables {
		if sleepUntil(ctx, opens.Add(time.Duration(c.at.From*float64(window)))) != nil {
			return p
		}
		one := result.Pull{Link: c.link, Device: c.device, From: since()}
		err := c.set(true)
		_ = sleepUntil(ctx, opens.Add(time.Duration(c.at.To*float64(window)))) // cut off or not, it is plugged in
		p.err = errors.Join(p.err, err, c.set(false))
		one.To = since()
		p.all = append(p.all, one)
	}
	return p
}
