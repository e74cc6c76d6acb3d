// Package analysis turns a run's records into findings: figures of cells,
// ratios with their intervals, verdicts on hypotheses, doubts and plain
// evidence. It knows the statistics only by the names that stats gives them.
package analysis
