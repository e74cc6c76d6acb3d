package traffic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"windtunnel/result"
)

const (
	calibrationVersion  = 4
	maxCalibrations     = 256
	maxCalibrationFile  = 1 << 20             // bytes
	maxCalibrationKey   = 2048                // bytes
	calibrationLasts    = 30 * 24 * time.Hour // microcode, firmware and neighbours change unseen
	fastestCalibration  = 1e15                // per second; no machine is so fast
	calibrationFileMode = 0o644
)

// PacketSocket is the result.Offered.Method of frames that an AF_PACKET socket sends.
const PacketSocket = "af-packet"

// Calibrated tells whether what is known of a sender's generator is of the way by which it sent: an AF_PACKET socket has no sink that costs
// nothing, and where frames leave by one after all, because a path takes no live frames, those were what was measured.
func Calibrated(sender result.PairEnd) bool {
	return sender.Offered == nil || sender.Offered.Method != PacketSocket
}

// Calibrations is the store of what this machine's generators reach without a
// path: one small file. A file that is not as it should be counts as empty, and
// the next Put replaces it. The zero value is for who wants none.
type Calibrations struct {
	Path   string
	why    error          // there is no place for a file
	memory *[]calibration // then: what was put there
}

// Unkept is a store where there is no place for a file: it ends with this process, and is one goroutine's.
func Unkept(why error) Calibrations { return Calibrations{why: why, memory: &[]calibration{}} }

// Wanted tells it from the zero value.
func (c Calibrations) Wanted() bool { return c.Path != "" || c.memory != nil }

// Unkept is why nothing outlives this process, nil where it does.
func (c Calibrations) Unkept() error {
	if c.why == nil {
		return nil
	}
	return fmt.Errorf("there is no place to keep a calibration in (%w): set HOME", c.why)
}

// calibrationFile is the file, as JSON. The key names all that the rate depends on.
type calibrationFile struct {
	Version int           `json:"version"`
	Entries []calibration `json:"entries"` // oldest first
}

type calibration struct {
	Key       string    `json:"key"`
	PerSecond float64   `json:"per_second"`
	At        time.Time `json:"at"`
}

// CalibrationKey names a generator: the machine, the kind, and the options that
// make a difference to how fast it can go. Of rates and times only whether there
// is one counts: a paced generator is the same one at any pace. It is also the same one whichever end it is.
func CalibrationKey(machine, kind string, options []result.Option, load result.Options) string {
	parts := []string{machine, kind}
	for _, o := range options {
		if o.Name == "direction" {
			continue
		}
		value := load[o.Name]
		switch o.Type {
		case result.BitRate, result.PacketRate, result.Duration:
			value = value != nil
		case result.Count, result.Size:
			value = load.Int(o.Name) // the same number after a trip through JSON
		}
		parts = append(parts, fmt.Sprintf("%s=%v", o.Name, value))
	}
	return strings.Join(parts, "|")
}

// Get returns a rate per second that was put there in the last 30 days.
func (c Calibrations) Get(key string) (perSecond float64, ok bool) {
	now := time.Now()
	for _, e := range c.read() {
		if age := now.Sub(e.At); e.Key == key && age >= 0 && age < calibrationLasts {
			perSecond, ok = e.PerSecond, true
		}
	}
	return perSecond, ok
}

// Put keeps a rate. The file is replaced at once, so that a reader sees the old
// one or the new one; of two writers at the same time one is forgotten. Where there is no place for a file, that is the error.
func (c Calibrations) Put(key string, perSecond float64) error {
	e := calibration{Key: key, PerSecond: perSecond, At: time.Now().UTC()}
	if !e.sound() {
		return fmt.Errorf("keeping a calibration of %g per second: it cannot be right", perSecond)
	}
	entries := slices.DeleteFunc(c.read(), func(old calibration) bool { return old.Key == key })
	entries = append(entries, e)
	entries = entries[max(0, len(entries)-maxCalibrations):]
	if c.memory != nil {
		*c.memory = entries
		return c.Unkept()
	}
	text, err := json.MarshalIndent(calibrationFile{calibrationVersion, entries}, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the calibrations: %w", err)
	}
	if err := c.replace(append(text, '\n')); err != nil {
		return fmt.Errorf("keeping a calibration in %s: %w", c.Path, err)
	}
	return nil
}

func (c Calibrations) replace(text []byte) error {
	dir := filepath.Dir(c.Path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".calibration-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails once it was renamed
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Chmod(file.Name(), calibrationFileMode)
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), c.Path)
}

// read returns the entries that are sound; none where the file is not.
func (c Calibrations) read() []calibration {
	if c.memory != nil {
		return slices.Clone(*c.memory)
	}
	info, err := os.Stat(c.Path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCalibrationFile {
		return nil
	}
	text, err := os.ReadFile(c.Path)
	if err != nil {
		return nil
	}
	return decodeCalibrations(text)
}

func decodeCalibrations(text []byte) []calibration {
	var file calibrationFile
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&file); err != nil || file.Version != calibrationVersion || len(file.Entries) > maxCalibrations {
		return nil
	}
	return slices.DeleteFunc(file.Entries, func(e calibration) bool { return !e.sound() })
}

func (e calibration) sound() bool {
	return e.Key != "" && len(e.Key) <= maxCalibrationKey && e.PerSecond > 0 && e.PerSecond < fastestCalibration && !math.IsNaN(e.PerSecond)
}
