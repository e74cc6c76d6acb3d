package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// What a reader takes at most: a file from elsewhere must not exhaust the machine.
const (
	maxLine   = 4 << 20
	maxCells  = 10_000
	maxTrials = 200_000
	// maxProfiled bounds all profiles together, in frames: two nodes of some ten thousand trials.
	maxProfiled = 20_000_000
	maxValues   = 1 << 25
	maxPairs    = 1 << 20
)

// MaxLineValues bounds the values of a line: one of two characters may become a record of 500 bytes, so that lines are bounded by
// what is in them, too. A trial of 64 pairs with ten minutes of intervals has 200,000.
const MaxLineValues = 1 << 18

// File is a whole run file.
type File struct {
	Run       Run
	Cells     []Cell
	Searches  []Search // one of a cell at most
	Trials    []Trial
	Latencies []LatencyAt // one of a cell at most
	Profiles  []Profile
	Equal     []EqualRate
	End       *End           // nil: the run did not end by itself
	Unknown   map[string]int // records of kinds that this version does not know, by kind
	Doubts    []Doubt        // about the file itself
}

// Read reads a run: its folder, or the run file itself.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return File{}, fmt.Errorf("reading a run: %w", err)
	}
	if info.IsDir() {
		path = filepath.Join(path, FileName)
		if info, err = os.Stat(path); err != nil {
			return File{}, fmt.Errorf("reading a run: %w", err)
		}
	}
	if !info.Mode().IsRegular() { // a FIFO would be waited for, a device has no end
		return File{}, fmt.Errorf("reading a run: %s is %s and not a regular file: name a run's folder, or a copy of its %s", path, kindOf(info.Mode()), FileName)
	}
	file, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("reading a run: %w", err)
	}
	defer file.Close()
	f, err := Decode(file)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// kindOf is what a file is that is not a regular one.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// Decode reads a run file's text. It takes what a killed run left: a last line
// that was cut off and an end record that is not there are doubts. Fields and
// kinds of records that it does not know are passed over. Names and texts are
// cleaned of control characters, so that a report cannot attack a terminal.
// Errors name the line.
func Decode(r io.Reader) (File, error) {
	f := File{Unknown: map[string]int{}}
	d := decoder{file: &f, cells: map[string]bool{}, searched: map[string]bool{}}
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, whole, err := readLine(lines)
		d.line++
		if err != nil && !errors.Is(err, io.EOF) {
			return File{}, fmt.Errorf("line %d: %w", d.line, err)
		}
		if len(line) > 0 {
			if stop, err := d.take(line, whole); err != nil {
				return File{}, err
			} else if stop {
				break
			}
		}
		if err != nil {
			break
		}
	}
	return f, d.finish()
}

// readLine returns one line without its end, and whether it had one.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine+1 {
			return nil, false, fmt.Errorf("longer than %d bytes", maxLine)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil {
			return line[:len(line)-1], true, nil
		}
		return line, false, err
	}
}

type decoder struct {
	file     *File
	line     int
	begun    bool
	cells    map[string]bool
	searched map[string]bool
	profiled int  // frames
	overfull bool // with profiles
	values   int  // in all lines
	pairs    int  // in all trials
}

// ValuesIn is about how many values a line has. Commas and braces of texts count, too, which are far fewer.
func ValuesIn(line []byte) int {
	return bytes.Count(line, []byte{','}) + bytes.Count(line, []byte{'{'}) + bytes.Count(line, []byte{'['})
}

// take decodes one line; stop means that it was cut off and is the last.
func (d *decoder) take(line []byte, whole bool) (stop bool, err error) {
	err = d.record(line)
	var cut *json.SyntaxError
	if err != nil && !whole && d.begun && errors.As(err, &cut) {
		d.doubt("cut-off", fmt.Sprintf("the run file breaks off in line %d, which is left out", d.line))
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("line %d: %w", d.line, err)
	}
	return false, nil
}

func (d *decoder) record(line []byte) error {
	n := ValuesIn(line)
	if n > MaxLineValues {
		return fmt.Errorf("about %d values, and a line may have %d", n, MaxLineValues)
	}
	var head struct {
		Record string `json:"record"`
		Format int    `json:"format"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return notRecord(line, d.begun, err)
	}
	if head.Record != RecordProfile { // which has a bound of its own
		d.values += n
	}
	if d.values > maxValues {
		return fmt.Errorf("more than %d values in all", maxValues)
	}
	if !d.begun {
		return d.run(line, head.Record, head.Format)
	}
	switch head.Record {
	case RecordRun:
		return errors.New("a second run record: one file holds one run")
	case RecordCell:
		return d.cell(line)
	case RecordSearch:
		return d.search(line)
	case RecordTrial:
		return d.trial(line)
	case RecordProfile:
		return d.profile(line)
	case RecordLatency:
		return d.latency(line)
	case RecordEqual:
		return d.equal(line)
	case RecordEnd:
		return d.end(line)
	}
	if len(d.file.Unknown) < maxCells {
		d.file.Unknown[clean(head.Record)]++
	}
	return nil
}

func (d *decoder) run(line []byte, record string, format int) error {
	if record != RecordRun {
		return fmt.Errorf("the first record must be %q, not %q: is this a run file?", RecordRun, clean(record))
	}
	if format > Format {
		return fmt.Errorf("format %d is newer than this program, which reads up to %d: report it with a newer windtunnel", format, Format)
	}
	if format < 1 {
		return fmt.Errorf("format %d is none: the first is 1", format)
	}
	d.begun = true
	return into(line, &d.file.Run)
}

func (d *decoder) cell(line []byte) error {
	var c Cell
	if err := into(line, &c); err != nil {
		return err
	}
	switch {
	case c.Name == "":
		return errors.New("a cell without a name")
	case d.cells[c.Name]:
		return fmt.Errorf("cell %s is there twice", c.Name)
	case len(d.file.Cells) >= maxCells:
		return fmt.Errorf("more than %d cells", maxCells)
	}
	d.cells[c.Name] = true
	d.file.Cells = append(d.file.Cells, c)
	return nil
}

func (d *decoder) trial(line []byte) error {
	var t Trial
	if err := into(line, &t); err != nil {
		return err
	}
	switch {
	case !d.cells[t.Cell]:
		return fmt.Errorf("a trial of cell %q, which no line before describes", t.Cell)
	case t.Block < 1:
		return fmt.Errorf("a trial of block %d: the first is 1", t.Block)
	case len(d.file.Trials) >= maxTrials:
		return fmt.Errorf("more than %d trials", maxTrials)
	}
	if err := d.flatten(&t); err != nil {
		return err
	}
	d.file.Trials = append(d.file.Trials, t)
	return nil
}

// flatten has a trial's figures in their places, and bounds what all trials have.
func (d *decoder) flatten(t *Trial) error {
	if d.pairs += len(t.Pairs); d.pairs > maxPairs {
		return fmt.Errorf("more than %d pairs in all trials", maxPairs)
	}
	for i := range t.Pairs {
		t.Pairs[i].flatten()
	}
	return nil
}

func (d *decoder) search(line []byte) error {
	var s Search
	if err := into(line, &s); err != nil {
		return err
	}
	switch {
	case !d.cells[s.Cell]:
		return fmt.Errorf("a search of cell %q, which no line before describes", s.Cell)
	case d.searched[s.Cell]:
		return fmt.Errorf("a second search of cell %s", s.Cell)
	case len(s.Found) != len(s.Goals):
		return fmt.Errorf("a search of cell %s with %d goals and %d results", s.Cell, len(s.Goals), len(s.Found))
	}
	d.searched[s.Cell] = true
	d.file.Searches = append(d.file.Searches, s)
	return nil
}

func (d *decoder) latency(line []byte) error {
	var l LatencyAt
	if err := into(line, &l); err != nil {
		return err
	}
	switch {
	case !d.cells[l.Cell]:
		return fmt.Errorf("a latency of cell %q, which no line before describes", l.Cell)
	case slices.ContainsFunc(d.file.Latencies, func(o LatencyAt) bool { return o.Cell == l.Cell }):
		return fmt.Errorf("a second latency of cell %s", l.Cell)
	}
	d.file.Latencies = append(d.file.Latencies, l)
	return nil
}

func (d *decoder) profile(line []byte) error {
	var p Profile
	if err := into(line, &p); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	for _, t := range p.Tasks {
		d.profiled += len(t.Frames)
	}
	if !d.cells[p.Cell] {
		return fmt.Errorf("a profile of cell %q, which no line before describes", p.Cell)
	}
	if d.profiled <= maxProfiled && len(d.file.Profiles) < 2*maxTrials {
		d.file.Profiles = append(d.file.Profiles, p)
	} else if !d.overfull {
		d.overfull = true
		d.doubt("profiles", fmt.Sprintf("the file has more profiles than are read (%d frames): layers and flame graphs are of those before line %d", maxProfiled, d.line))
	}
	return nil
}

func (d *decoder) equal(line []byte) error {
	var e EqualRate
	if err := into(line, &e); err != nil {
		return err
	}
	switch {
	case !d.cells[e.Cell]:
		return fmt.Errorf("an equal rate of cell %q, which no line before describes", e.Cell)
	case len(d.file.Equal) >= maxTrials:
		return fmt.Errorf("more than %d trials at equal rates", maxTrials)
	case e.Trial == nil:
	case e.Trial.Cell != e.Cell || e.Trial.Block < 1:
		return fmt.Errorf("a trial of cell %q, block %d, stands for cell %q at an equal rate", e.Trial.Cell, e.Trial.Block, e.Cell)
	default:
		if err := d.flatten(e.Trial); err != nil {
			return err
		}
	}
	d.file.Equal = append(d.file.Equal, e)
	return nil
}

func (d *decoder) end(line []byte) error {
	var e End
	if err := into(line, &e); err != nil {
		return err
	}
	d.file.End = &e
	return nil
}

// into decodes a line whose kind is known, and cleans its texts.
func into[T any](line []byte, record *T) error {
	if err := json.Unmarshal(line, record); err != nil {
		return misfitOf(line, err)
	}
	cleanAll(record)
	return nil
}

func (d *decoder) finish() error {
	if !d.begun {
		return errors.New("empty: no run record")
	}
	if d.file.End == nil {
		d.doubt("no-end", "the run did not end by itself (killed?): it has the trials up to there")
	}
	return nil
}

func (d *decoder) doubt(kind, says string) {
	d.file.Doubts = append(d.file.Doubts, Doubt{Kind: kind, Says: says})
}

// flatten leaves an opposite direction none of its own: there are two in all.
func (p *PairSample) flatten() {
	ends := []*PairEnd{&p.Sender, &p.Receiver}
	if p.Beside != nil {
		ends = append(ends, &p.Beside.Sender, &p.Beside.Receiver)
	}
	for _, end := range ends {
		if end.Opposite != nil {
			end.Opposite.Opposite = nil
		}
	}
}
