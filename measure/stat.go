package measure

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"windtunnel/result"
)

// userHz is the unit of /proc/stat, 1/100 s on every architecture that Linux and
// Go share (USER_HZ in include/uapi/asm-generic/param.h).
const userHz = 100

// statReading is /proc/stat: per CPU the ticks of each class, and the whole
// host's context switches and interrupts.
type statReading struct {
	cpus       map[int]tickRow
	switches   uint64
	interrupts uint64
	hasEvents  bool
}

// The columns of a cpu line that are used; guest time is in user's already
// (proc(5)).
const (
	colUser = iota
	colNice
	colSystem
	colIdle
	colIOWait
	colIRQ
	colSoftirq
	colSteal
	colCount
)

type tickRow [colCount]uint64

func readStat(f *procFile) (statReading, error) {
	text, err := f.read()
	if err != nil {
		return statReading{}, err
	}
	return parseStat(text)
}

func parseStat(text []byte) (statReading, error) {
	s := statReading{cpus: map[int]tickRow{}}
	for line := range lines(text) {
		fields := bytes.Fields(line[:min(len(line), 512)])
		if len(fields) < 2 {
			continue
		}
		if err := s.take(string(fields[0]), fields[1:]); err != nil {
			return statReading{}, fmt.Errorf("reading /proc/stat: %w", err)
		}
	}
	if len(s.cpus) == 0 {
		return statReading{}, errors.New("/proc/stat names no CPU")
	}
	return s, nil
}

func (s *statReading) take(name string, fields [][]byte) (err error) {
	switch name {
	case "ctxt":
		s.hasEvents = true
		s.switches, err = number(fields[0])
	case "intr":
		s.interrupts, err = number(fields[0])
	default:
		var cpu int
		if len(name) <= 3 || name[:3] != "cpu" {
			return nil
		}
		if cpu, err = strconv.Atoi(name[3:]); err != nil {
			return nil
		}
		s.cpus[cpu], err = parseTicks(fields)
	}
	return err
}

func parseTicks(fields [][]byte) (row tickRow, err error) {
	if len(fields) < colCount {
		return row, fmt.Errorf("a CPU has %d columns, not %d", len(fields), colCount)
	}
	for i := range row {
		if row[i], err = number(fields[i]); err != nil {
			return row, err
		}
	}
	return row, nil
}

// split is one CPU's time by class, in seconds. idle and iowait may go back a
// little (proc(5)), so a class that did so counts nothing.
func split(cpu int, before, after tickRow) result.CPUSample {
	var d [colCount]float64
	for i := range d {
		if after[i] > before[i] {
			d[i] = float64(after[i]-before[i]) / userHz
		}
	}
	return result.CPUSample{
		CPU: cpu, User: d[colUser] + d[colNice], System: d[colSystem], Softirq: d[colSoftirq],
		IRQ: d[colIRQ], Idle: d[colIdle] + d[colIOWait], Steal: d[colSteal],
	}
}

// wholeHost says whether so many CPUs are all that the host has.
func (s statReading) wholeHost(cpus []int) bool { return len(cpus) == len(s.cpus) }
