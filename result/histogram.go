package result

import (
	"fmt"

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
	histogramLongest = 3600e9 // ns: what takes longer counts as an hour
	histogramDigits  = 3      // significant decimal digits
	nanosecond       = 1e-9
	longestEncoding  = 1 << 20 // bytes of HDR
)

// Recorder collects times; it allocates only when it is made. One goroutine records.
type Recorder struct{ times *hdrhistogram.Histogram }

// NewRecorder is an empty recorder for times of 1 ns to 1 h.
func NewRecorder() *Recorder {
	return &Recorder{hdrhistogram.New(1, histogramLongest, histogramDigits)}
}

// Record adds a time in nanoseconds; what lies outside of the range counts as its edge.
func (r *Recorder) Record(ns int64) {
	_ = r.times.RecordValue(min(max(ns, 0), histogramLongest)) // within bounds: it cannot fail
}

// Reset empties the recorder.
func (r *Recorder) Reset() { r.times.Reset() }

// Histogram summarises what was recorded so far.
func (r *Recorder) Histogram() Histogram { return summary(r.times) }

// Merge adds what another recorder holds.
func (r *Recorder) Merge(other *Recorder) { r.times.Merge(other.times) }

// MergeHistograms is the distribution of all times of several histograms.
func MergeHistograms(parts ...Histogram) (Histogram, error) {
	all := NewRecorder()
	for _, part := range parts {
		if part.Count == 0 {
			continue
		}
		if len(part.HDR) > longestEncoding {
			return Histogram{}, fmt.Errorf("a histogram of %d bytes is longer than %d", len(part.HDR), longestEncoding)
		}
		times, err := hdrhistogram.Decode([]byte(part.HDR))
		if err != nil {
			return Histogram{}, fmt.Errorf("reading a histogram: %w", err)
		}
		if all.times.Merge(times) > 0 {
			return Histogram{}, fmt.Errorf("a histogram holds times over an hour")
		}
	}
	return all.Histogram(), nil
}

func summary(h *hdrhistogram.Histogram) Histogram {
	at := func(percent float64) float64 { return float64(h.ValueAtQuantile(percent)) * nanosecond }
	s := Histogram{
		Count: uint64(h.TotalCount()), Min: float64(h.Min()) * nanosecond, Mean: h.Mean() * nanosecond,
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(h.Max()) * nanosecond,
	}
	if text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		s.HDR = string(text)
	}
	return s
}
