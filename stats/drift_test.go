package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// course is a simulated suite in the order of time: the logarithms of the cells' trials and their places, by block and cell.
type course struct {
	logs   [][]float64
	places [][]int
}

// course simulates blocks, every second one backwards, of which each pair has the order that is drawn.
func (n noise) course(random *rand.Rand, truths []float64, blocks int, draw func(*rand.Rand, int) []int) (c course) {
	level, order := 100.0, []int(nil)
	for i := range blocks {
		if i%2 == 0 {
			order = draw(random, len(truths))
		} else {
			slices.Reverse(order)
		}
		logs, places := make([]float64, len(truths)), make([]int, len(truths))
		for place, cell := range order {
			level *= math.Exp(n.drift * random.NormFloat64())
			logs[cell] = math.Log(level * truths[cell] * n.trial(random) * (1 + n.first*float64(place)/float64(len(order))))
			places[cell] = i*len(truths) + place
		}
		c.logs, c.places = append(c.logs, logs), append(c.places, places)
	}
	return c
}

func anyOrder(random *rand.Rand, cells int) []int { return random.Perm(cells) }

// nearOrder is the one of four random orders in which the cells are least far from the first one, with which all are
// compared. Morgan and Rubin, "Rerandomization to improve covariate balance in experiments", Annals of Statistics 40 (2012).
func nearOrder(random *rand.Rand, cells int) (best []int) {
	least := math.Inf(1)
	for range 4 {
		order, sum := random.Perm(cells), 0.0
		for place := range order {
			sum += math.Abs(float64(place - slices.Index(order, 0)))
		}
		if sum < least {
			best, least = order, sum
		}
	}
	return best
}

// plainly are the ratios of the blocks as they are.
func plainly(c course) [][]float64 { return corrected(c, func(int, int) float64 { return 0 }) }

// corrected are the logarithms of the ratios to the first cell, less what the machine is reckoned to have drifted between
// the two trials.
func corrected(c course, drifted func(block, cell int) float64) [][]float64 {
	all := make([][]float64, suiteCells-1)
	for b, logs := range c.logs {
		for j := range all {
			all[j] = append(all[j], logs[j+1]-logs[0]-drifted(b, j+1))
		}
	}
	return all
}

// residuals are what the trials are off their cells' means.
func residuals(c course) [][]float64 {
	off, cells := make([][]float64, len(c.logs)), len(c.logs[0])
	for b := range off {
		off[b] = make([]float64, cells)
	}
	for cell := range cells {
		mean := 0.0
		for _, logs := range c.logs {
			mean += logs[cell] / float64(len(c.logs))
		}
		for b, logs := range c.logs {
			off[b][cell] = logs[cell] - mean
		}
	}
	return off
}

// byLine reckons the drift within a block by a straight line through its trials; through the other cells' only, or through
// all. With the two trials in it the line takes some of their own noise for drift, so that blocks vary less than the mean errs.
func byLine(others bool) func(course) [][]float64 {
	return func(c course) [][]float64 {
		off := residuals(c)
		return corrected(c, func(b, cell int) float64 {
			var places, levels []float64
			for i, p := range c.places[b] {
				if !others || i != 0 && i != cell {
					places, levels = append(places, float64(p)), append(levels, off[b][i])
				}
			}
			middle, _ := moments(places)
			level, _ := moments(levels)
			across, along := 0.0, 0.0
			for i, p := range places {
				across += (p - middle) * (levels[i] - level)
				along += (p - middle) * (p - middle)
			}
			return across / along * float64(c.places[b][cell]-c.places[b][0])
		})
	}
}

// byNeighbours reckons it by the other cells' trials before and after each of the two, in whatever blocks, with the weights
// that are best for a random walk of the machine's true size: no method can know more of it than this one is told.
func byNeighbours(n noise) func(course) [][]float64 {
	return func(c course) [][]float64 {
		off, cells := residuals(c), len(c.logs[0])
		levels := make([][]float64, cells)
		for cell := 1; cell < cells; cell++ {
			trials := make([]float64, len(off)*cells)
			for b := range off {
				for other, place := range c.places[b] {
					trials[place] = off[b][other]
					if other == cell || other == 0 {
						trials[place] = math.NaN()
					}
				}
			}
			levels[cell] = smoothed(trials, n.drift*n.drift, n.spread*n.spread)
		}
		return corrected(c, func(b, cell int) float64 { return levels[cell][c.places[b][cell]] - levels[cell][c.places[b][0]] })
	}
}

// smoothed is the level of a random walk of steps of a variance, seen with noise of another where the samples are numbers: the mean
// of what those before say and what those after do (the two-filter smoother: Fraser and Potter, "The optimum linear smoother as a
// combination of two optimum linear filters", IEEE Transactions on Automatic Control 14 (1969)).
func smoothed(samples []float64, step, noise float64) []float64 {
	n := len(samples)
	pass := func(at func(int) int) (levels, variances []float64) {
		levels, variances = make([]float64, n), make([]float64, n)
		level, variance := 0.0, 1e6
		for i := range n {
			variance += step
			levels[at(i)], variances[at(i)] = level, variance // before this sample
			if x := samples[at(i)]; !math.IsNaN(x) {
				gain := variance / (variance + noise)
				level, variance = level+gain*(x-level), variance*(1-gain)
			}
		}
		return levels, variances
	}
	before, uncertain := pass(func(i int) int { return i })
	after, unsure := pass(func(i int) int { return n - 1 - i })
	for i := range before {
		before[i] = (before[i]/uncertain[i] + after[i]/unsure[i]) / (1/uncertain[i] + 1/unsure[i])
	}
	return before
}

// firstTwice are the ratios of a suite whose last cell is the first one again, in each block.
func firstTwice(c course) [][]float64 {
	for b, logs := range c.logs {
		logs[0] = (logs[0] + logs[suiteCells]) / 2
		c.logs[b] = logs[:suiteCells]
	}
	return plainly(c)
}

// TestMethodsAgainstDrift prints what was tried where the machine's speed wanders from trial to trial; with -suites 1000 -v it is the
// table of docs/statistics.md.
func TestMethodsAgainstDrift(t *testing.T) {
	claim := methods["Bonferroni, planned"]
	for _, way := range []struct {
		name   string
		blocks int // in the same time
		draw   func(*rand.Rand, int) []int
		ratios func(noise) func(course) [][]float64
		twice  bool
	}{
		{"as they are", suiteBlocks, anyOrder, func(noise) func(course) [][]float64 { return plainly }, false},
		{"a line through a block's others", suiteBlocks, anyOrder, func(noise) func(course) [][]float64 { return byLine(true) }, false},
		{"a line through all of a block", suiteBlocks, anyOrder, func(noise) func(course) [][]float64 { return byLine(false) }, false},
		{"neighbours, weighed by an oracle", suiteBlocks, anyOrder, byNeighbours, false},
		{"the nearest of four orders", suiteBlocks, nearOrder, func(noise) func(course) [][]float64 { return plainly }, false},
		{"the first cell twice a block", suiteBlocks * suiteCells / (suiteCells + 1), anyOrder, func(noise) func(course) [][]float64 { return firstTwice }, true},
	} {
		for _, c := range []struct {
			name  string
			noise noise
		}{{"plain", noises["plain"]}, {"2 % of drift", noises["drift"]}, {"all at once", noises["all at once"]}} {
			found, wrong := 0, 0
			for seed := range *suites {
				for _, different := range []int{0, 1} {
					truths := truthsOf(different)
					if way.twice {
						truths = append(truths, truths[0])
					}
					random := rand.New(rand.NewPCG(uint64(seed), uint64(19+different)))
					claims := claim(way.ratios(c.noise)(c.noise.course(random, truths, way.blocks, way.draw)))
					if different == 1 && claims[0] {
						found++
					}
					if different == 0 && slices.Contains(claims, true) {
						wrong++
					}
				}
			}
			t.Logf("%-34s %-13s %5.1f %% of the differences of 5 %% found after %d blocks, %4.1f %% of A/A suites have one", way.name, c.name,
				100*float64(found)/float64(*suites), way.blocks, 100*float64(wrong)/float64(*suites))
			if float64(wrong) > 0.05*float64(*suites) {
				t.Errorf("%s, %s: %d of %d A/A suites have a difference", way.name, c.name, wrong, *suites)
			}
		}
	}
}
