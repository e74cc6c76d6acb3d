package result

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestMergedHistogramsAreTheHistogramOfAll(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	all, parts := NewRecorder(), []Histogram{{}}
	for range 5 {
		one := NewRecorder()
		for range 1000 {
			ns := int64(draw.ExpFloat64() * 50e3)
			one.Record(ns)
			all.Record(ns)
		}
		parts = append(parts, one.Histogram())
	}
	got, err := MergeHistograms(parts...)
	if want := all.Histogram(); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestRecorderKeepsThreeDigitsAndItsRange(t *testing.T) {
	for ns, want := range map[int64]float64{-5: 0, 0: 0, 1: 1e-9, 123456789: 0.123456789, math.MaxInt64: 3600} {
		r := NewRecorder()
		r.Record(ns)
		if h := r.Histogram(); h.Count != 1 || math.Abs(h.P99-want) > want/1000 {
			t.Errorf("%d ns became %+v", ns, h)
		}
	}
}

func TestForeignHistogramsAreRefused(t *testing.T) {
	wide := hdrhistogram.New(1, math.MaxInt64/4, 5) // 100 MB of counters
	_ = wide.RecordValue(1)
	text, err := wide.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	var bomb bytes.Buffer
	bomb.Write(make([]byte, 8))
	z := zlib.NewWriter(&bomb)
	for range 64 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	for name, hdr := range map[string]string{
		"another geometry": string(text), "a bomb": base64.StdEncoding.EncodeToString(bomb.Bytes()),
		"empty": "", "no base64": "#", "short": "AAAA",
	} {
		if _, err := MergeHistograms(Histogram{Count: 1, HDR: hdr}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func FuzzMergeHistograms(f *testing.F) {
	r := NewRecorder()
	r.Record(1000)
	f.Add(r.Histogram().HDR)
	f.Add("")
	f.Fuzz(func(t *testing.T, hdr string) {
		h, err := MergeHistograms(Histogram{Count: 1, HDR: hdr})
		if err == nil && (h.Max > 3601 || h.Min < 0) {
			t.Errorf("%+v", h)
		}
	})
}

func TestRecordMany(t *testing.T) {
	for _, times := range []uint64{0, 1, 2, 3, 1000, 12_345_678} {
		r := NewRecorder()
		r.RecordMany(500, times)
		if h := r.Histogram(); h.Count != times || times > 0 && (h.P50 < 499e-9 || h.P50 > 501e-9) {
			t.Errorf("recorded %d times at %g s, not %d", h.Count, h.P50, times)
		}
	}
}
