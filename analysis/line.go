package analysis

import "windtunnel/result"

// Framed reports whether the cell's load consists of raw frames, so that a link's line rate is a
// measure of it.
func (c Cell) Framed() bool { return c.Ceiling10G.Known() }

func (c Cell) directions(trials []result.Trial) []Direction {
	var all []Direction
	for _, d := range c.Spec.Directions() {
		all = append(all, Direction{d, c.mean(trials, func(t result.Trial) (float64, error) { return c.Spec.DirectionRate(t, d) })})
	}
	return all
}

func (c Cell) ceiling(trials []result.Trial, bitsPerSecond float64) result.Figure {
	return c.mean(trials, func(t result.Trial) (float64, error) { return c.Spec.Ceiling(t, bitsPerSecond) })
}
