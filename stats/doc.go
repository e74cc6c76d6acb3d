// Package stats is pure mathematics on samples: the interval of a mean and of a
// ratio, when a ratio is known well enough to stop, how a verdict reads, and
// what makes a set of samples doubtful. Nothing outside it names a statistic:
// callers state what they assume (blocks in random order, a look after every
// block) and get estimates, words and warnings.
package stats
