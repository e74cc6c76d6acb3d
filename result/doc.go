// Package result is the waist of Windtunnel: the records that a run writes and
// that everything after it reads. It imports nothing of ours, needs no root and
// no testbed. FORMAT.md beside this file describes the file that the records
// make up. Units are normalised here, at the edge: seconds, bytes, bits per
// second, packets; a missing figure is a reason, never a zero.
package result
