package result

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The names under which PairEnd.Latencies keeps its histograms.
const (
	LatencyIntended = "intended" // from the time a request was meant to leave
	LatencyActual   = "actual"   // from the time it left
)

// Histogram is a distribution of times in seconds. HDR holds all of it, in the
// compressed form of HdrHistogram (V2, base64), so that histograms merge.
type Histogram struct {
	Count uint64  `json:"count"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	Max   float64 `json:"max"`
	HDR   string  `json:"hdr,omitempty"`
}

const (
	histogramShortest = 1      // ns
	histogramLongest  = 3600e9 // ns: what takes longer counts as an hour
	histogramDigits   = 3      // significant decimal digits
	nanosecond        = 1e-9
	longestEncoding   = 1 << 20 // bytes of HDR
	longestInflated   = 1 << 20 // bytes of it without compression: 9 a counter at most
)

// Recorder collects times; it allocates only when it is made. One goroutine records.
type Recorder struct{ times *hdrhistogram.Histogram }

// NewRecorder is an empty recorder for times of 1 ns to 1 h.
func NewRecorder() *Recorder {
	return &Recorder{hdrhistogram.New(histogramShortest, histogramLongest, histogramDigits)}
}

// Record adds a time in nanoseconds; what lies outside of the range counts as its edge.
func (r *Recorder) Record(ns int64) {
	_ = r.times.RecordValue(min(max(ns, 0), histogramLongest)) // within bounds: it cannot fail
}

// RecordMany adds a duration in nanoseconds so many times, at the cost of once.
func (r *Recorder) RecordMany(ns int64, times uint64) {
	_ = r.times.RecordValues(min(max(ns, 0), histogramLongest), int64(min(times, math.MaxInt64)))
}

// Reset empties the recorder.
func (r *Recorder) Reset() { r.times.Reset() }

// At is the time, in seconds, that so many percent of those recorded do not exceed. It
// costs a walk over the counters, and no encoding.
func (r *Recorder) At(percent float64) float64 {
	return float64(r.times.ValueAtQuantile(percent)) * nanosecond
}

// Histogram summarises what was recorded so far.
func (r *Recorder) Histogram() Histogram {
	h := r.times
	s := Histogram{
		Count: uint64(h.TotalCount()), Min: float64(h.Min()) * nanosecond, Mean: h.Mean() * nanosecond,
		P50: r.At(50), P90: r.At(90), P99: r.At(99), P999: r.At(99.9), Max: float64(h.Max()) * nanosecond,
	}
	if text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		s.HDR = string(text)
	}
	return s
}

// Merge adds what another recorder holds.
func (r *Recorder) Merge(other *Recorder) { r.times.Merge(other.times) }

// MergeHistograms is the distribution of all times of several histograms.
func MergeHistograms(parts ...Histogram) (Histogram, error) {
	all := NewRecorder()
	for _, part := range parts {
		if part.Count == 0 {
			continue
		}
		times, err := decodeHistogram(part.HDR)
		if err != nil {
			return Histogram{}, fmt.Errorf("reading a histogram: %w", err)
		}
		if all.times.Merge(times) > 0 {
			return Histogram{}, fmt.Errorf("a histogram holds times over an hour")
		}
	}
	return all.Histogram(), nil
}

var errForeignHistogram = errors.New("it is no histogram of a run file")

// decodeHistogram reads Histogram.HDR. The library allocates what the header asks
// for, and a run file may be anybody's: so the header is compared with ours first,
// and the length after decompression is bounded.
func decodeHistogram(text string) (*hdrhistogram.Histogram, error) {
	if len(text) > longestEncoding {
		return nil, fmt.Errorf("%w: %d bytes", errForeignHistogram, len(text))
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	const outerHeader = 8 // cookie, length
	if err != nil || len(packed) < outerHeader {
		return nil, errForeignHistogram
	}
	inflater, err := zlib.NewReader(bytes.NewReader(packed[outerHeader:]))
	if err != nil {
		return nil, errForeignHistogram
	}
	plain, err := io.ReadAll(io.LimitReader(inflater, longestInflated+1))
	if err != nil || len(plain) > longestInflated || !ourHeader(plain) {
		return nil, errForeignHistogram
	}
	return hdrhistogram.Decode([]byte(text))
}

// ourHeader compares the header of an encoded histogram (HdrHistogram's V2
// format: cookie, payload's length, offset, digits, lowest, highest, ratio).
func ourHeader(plain []byte) bool {
	const size = 40
	return len(plain) >= size &&
		binary.BigEndian.Uint32(plain[12:]) == histogramDigits &&
		binary.BigEndian.Uint64(plain[16:]) == histogramShortest &&
		binary.BigEndian.Uint64(plain[24:]) == histogramLongest
}
