package measure

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

var errNotOurs = errors.New("this host counts them for all CPUs together, and the node has only some")

// eventsProbe counts the context switches and interrupts of the node's CPUs. The
// kernel's software event costs a few ns a switch; /proc/stat has the whole host's
// sum, which is the node's when it has all CPUs.
type eventsProbe struct {
	cpus       []int
	switches   map[int]int // perf events by CPU; nil: not to be had
	interrupts *procFile
}

type eventsReading struct {
	switches   reading[uint64]
	interrupts reading[uint64]
}

func openEvents(cpus []int) eventsProbe {
	p := eventsProbe{cpus: cpus, interrupts: openProc("/proc/interrupts")}
	p.switches, _ = openPerfs(unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES, cpus)
	return p
}

func (p eventsProbe) close() {
	closePerfs(p.switches)
	p.interrupts.close()
}

func (p eventsProbe) read(stat reading[statReading]) eventsReading {
	if s := stat.value; stat.err == nil && s.hasEvents && s.wholeHost(p.cpus) {
		return eventsReading{read(s.switches, nil), read(s.interrupts, nil)}
	}
	return eventsReading{read(p.readSwitches()), read(p.readInterrupts())}
}

func (p eventsProbe) readSwitches() (sum uint64, err error) {
	if p.switches == nil {
		return 0, errNotOurs
	}
	for _, fd := range p.switches {
		c, err := readPerf(fd)
		if err != nil {
			return 0, err
		}
		sum += c.count
	}
	return sum, nil
}

func (p eventsProbe) readInterrupts() (uint64, error) {
	text, err := p.interrupts.read()
	if err != nil {
		return 0, err
	}
	return parseInterrupts(text, p.cpus)
}

// parseInterrupts sums the columns of the given CPUs in /proc/interrupts; its
// head names the online ones.
func parseInterrupts(text []byte, cpus []int) (sum uint64, err error) {
	head, rest, _ := bytes.Cut(text, []byte{'\n'})
	wanted := map[int]bool{}
	for column, name := range bytes.Fields(head) {
		for _, cpu := range cpus {
			if string(name) == "CPU"+strconv.Itoa(cpu) {
				wanted[column] = true
			}
		}
	}
	if len(wanted) != len(cpus) {
		return 0, fmt.Errorf("/proc/interrupts does not name the CPUs %v", cpus)
	}
	columns := len(bytes.Fields(head))
	for line := range lines(rest) {
		sum += sumColumns(line, columns, wanted)
	}
	return sum, nil
}

// sumColumns adds one line's counts; lines of the whole machine (ERR, MIS) have
// one column, which is no CPU's.
func sumColumns(line []byte, columns int, wanted map[int]bool) (sum uint64) {
	_, counts, ok := bytes.Cut(line, []byte{':'})
	fields := bytes.Fields(counts)
	if !ok || len(fields) < columns {
		return 0
	}
	for column := range wanted {
		n, err := number(fields[column])
		if err != nil {
			return 0
		}
		sum += n
	}
	return sum
}
