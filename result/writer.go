package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FileName is the run file's name in a run's folder.
const FileName = "run.jsonl"

// Writer writes a run file as the run goes. Every record is one line, and every
// line is one write of the whole line straight to the file: a killed run keeps
// every record that a call returned for. One goroutine at a time.
type Writer struct {
	file   *os.File
	made   string // the folder, if it is this writer's
	whole  int64  // bytes of whole lines
	values int    // in all lines but those of profiles, as a reader counts them
	kept   int64  // bytes of those lines, which whoever conducts a run has in memory, too
	broken error  // a failed write ends the file: what follows would not be whole
}

// maxKept bounds what a run has beside its profiles: a thousand trials an hour, of two nodes with 128 CPUs, for a working day.
const maxKept = 512 << 20

// Create makes the run's folder, with its parents, and the run file in it. The
// folder must not exist or be empty: a run never overwrites another.
func Create(dir string) (*Writer, error) {
	made := dir
	if _, err := os.Lstat(dir); err == nil {
		made = ""
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the run's folder: %w", err)
	}
	if err := Vacant(dir); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating the run file: %w", err)
	}
	return &Writer{file: file, made: made}, nil
}

// Vacant says why a run may not write into dir, which must not exist or be an
// empty folder. It changes nothing.
func Vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking into the run's folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the run's folder %s is not empty (it holds %s): name another with --out", dir, entries[0].Name())
	}
	return nil
}

// Path is the run file.
func (w *Writer) Path() string { return w.file.Name() }

// Run writes the first line. It fills in Record and Format.
func (w *Writer) Run(r Run) error {
	r.Record, r.Format = RecordRun, Format
	return w.line(r)
}

// Cell writes one cell. It fills in Record.
func (w *Writer) Cell(c Cell) error {
	c.Record = RecordCell
	return w.line(c)
}

// Search writes one search. It fills in Record.
func (w *Writer) Search(s Search) error {
	s.Record = RecordSearch
	return w.line(s)
}

// Latency writes one cell's latency at a load. It fills in Record.
func (w *Writer) Latency(l LatencyAt) error {
	l.Record = RecordLatency
	return w.line(l)
}

// Trial writes one trial. It fills in Record.
func (w *Writer) Trial(t Trial) error {
	t.Record = RecordTrial
	return w.line(t)
}

// Profile writes what a node's CPUs were doing in a trial. It fills in Record.
func (w *Writer) Profile(p Profile) error {
	p.Record = RecordProfile
	return w.write(p, false) // a reader has a bound of its own, and passes over what is more
}

// EqualRate writes one trial at a rate that several cells get. It fills in Record.
func (w *Writer) EqualRate(e EqualRate) error {
	e.Record = RecordEqual
	return w.line(e)
}

// End writes the last line. It fills in Record.
func (w *Writer) End(e End) error {
	e.Record = RecordEnd
	return w.write(e, false)
}

// Close brings the file to the disk. An error means that the end of the file may
// be missing there. A file of which the disk took no line goes, with the folder if that was made for it.
func (w *Writer) Close() error {
	if w.broken != nil && w.whole == 0 {
		return w.discard()
	}
	err := errors.Join(w.file.Sync(), w.file.Close())
	if err != nil {
		return fmt.Errorf("closing the run file: %w", err)
	}
	return nil
}

func (w *Writer) discard() error {
	err := errors.Join(w.file.Close(), os.Remove(w.file.Name()))
	if err == nil && w.made != "" {
		err = os.Remove(w.made)
	}
	if err != nil {
		return fmt.Errorf("taking back a run file without a record: %w", err)
	}
	return nil
}

func (w *Writer) line(record any) error { return w.write(record, true) }

// room takes a line in, or says that the file has no room for it: a node that tells more with every trial fills no memory and no disk, and
// nothing is written that no reader takes.
func (w *Writer) room(bytes, values int) error {
	if w.values+values > maxValues || w.kept+int64(bytes) > maxKept {
		return fmt.Errorf("a run file has at most %d values and %d MiB beside its profiles: give a shorter --budget", maxValues, maxKept>>20)
	}
	w.values, w.kept = w.values+values, w.kept+int64(bytes)
	return nil
}

// write writes a record as a line, for which there has to be room if it counts.
func (w *Writer) write(record any, counts bool) error {
	if w.broken != nil {
		return w.broken
	}
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encoding a record for %s: %w", w.file.Name(), err)
	}
	if len(text) >= maxLine {
		return fmt.Errorf("a record for %s has %d bytes, and a line may have %d", w.file.Name(), len(text), maxLine)
	}
	values := ValuesIn(text)
	if values > MaxLineValues {
		return fmt.Errorf("a record for %s has about %d values, and a line may have %d", w.file.Name(), values, MaxLineValues)
	}
	if counts {
		if err := w.room(len(text), values); err != nil {
			return fmt.Errorf("writing to %s: %w", w.file.Name(), err)
		}
	}
	n, err := w.file.Write(append(text, '\n'))
	if err != nil {
		return w.fail(n, err)
	}
	w.whole += int64(n)
	return nil
}

// fail takes half a line back, as on a full disk, so that the file stays readable.
func (w *Writer) fail(written int, err error) error {
	kept := "the records before are kept"
	if w.whole == 0 {
		kept = "nothing of this run is there"
	}
	w.broken = fmt.Errorf("writing the run file: %w; %s", err, kept)
	if written > 0 {
		if err := w.file.Truncate(w.whole); err != nil {
			w.broken = errors.Join(w.broken, fmt.Errorf("taking back half a line: %w", err))
		}
	}
	return w.broken
}
