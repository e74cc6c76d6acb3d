package result

import (
	"errors"
	"fmt"
	"strconv"
)

// The links whose line rates packet rates are compared with, in bits per second.
const (
	Ethernet10G = 10e9
	Ethernet40G = 40e9
)

// wireExtra is what a frame takes on a link beside its bytes: preamble 7, start delimiter 1, gap 12
// (IEEE 802.3, clause 4).
const wireExtra = 20

// LineRate is how many frames a second a link carries in one direction. The size is with FCS; overhead
// is the bytes that an encapsulation adds to each.
func LineRate(bitsPerSecond, size, overhead float64) float64 {
	return bitsPerSecond / 8 / (size + overhead + wireExtra)
}

// layoutOverhead is the fact of a cell's layout that says what its encapsulation adds.
const layoutOverhead = "overhead_bytes"

// Overhead is the bytes that the cell's encapsulation adds to a frame on the fabric.
func (c Cell) Overhead() (float64, error) {
	text := c.Layout[layoutOverhead]
	if text == "" {
		return 0, errors.New("the path does not say what it adds to a frame")
	}
	return strconv.ParseFloat(text, 64)
}

// Ceiling is how many of the trial's frames a second a link would carry in one direction, counted at the
// fabric: with what wraps them there.
func (c Cell) Ceiling(t Trial, bitsPerSecond float64) (float64, error) {
	overhead, err := c.Overhead()
	if err != nil {
		return 0, err
	}
	for _, p := range t.Pairs {
		for _, end := range p.Receivers() {
			if end.Frames != nil {
				return LineRate(bitsPerSecond, end.Frames.Size, overhead), nil
			}
		}
	}
	return 0, errors.New("the load has no frames of a known size")
}

// Direction is traffic from one node to another; within one, from one place to another.
type Direction struct{ From, To string }

// String is "a to b".
func (d Direction) String() string { return d.From + " to " + d.To }

func (p Pair) direction() Direction {
	if p.From.Node == p.To.Node {
		return Direction{p.From.Name(), p.To.Name()}
	}
	return Direction{p.From.Node, p.To.Node}
}

// Directions are those of the cell's pairs, each once, in their order.
func (c Cell) Directions() []Direction {
	var all []Direction
	seen := map[Direction]bool{}
	for _, p := range c.Pairs {
		d := p.direction()
		if !seen[d] {
			seen[d] = true
			all = append(all, d)
		}
	}
	return all
}

// DirectionRate is the packets a second that the trial's receivers of one direction took.
func (c Cell) DirectionRate(t Trial, d Direction) (float64, error) {
	var pairs []PairSample
	for i, p := range c.Pairs {
		if p.direction() == d && i < len(t.Pairs) {
			pairs = append(pairs, t.Pairs[i])
		}
	}
	if len(pairs) == 0 {
		return 0, fmt.Errorf("no pair goes from %s", d)
	}
	return packetRate(pairs, PairSample.Receivers)
}

// lineShare is how much of a link's line rate was received, in percent: the mean over the directions,
// each of which has a line rate of its own.
func (c Cell) lineShare(t Trial, bitsPerSecond float64) (float64, error) {
	ceiling, err := c.Ceiling(t, bitsPerSecond)
	if err != nil {
		return 0, err
	}
	rate, err := packetRate(t.Pairs, PairSample.Receivers)
	return 100 * rate / ceiling / float64(len(c.Directions())), err
}
