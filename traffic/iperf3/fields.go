package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// fields is a JSON object of a peer. Types are enforced, as iperf3 does since
// 3.18: a number is a number. The first wrong field is kept in err.
type fields struct {
	values map[string]json.RawMessage
	err    error
}

func parseFields(body []byte) (*fields, error) {
	f := &fields{}
	if err := json.Unmarshal(body, &f.values); err != nil {
		return nil, fmt.Errorf("a message is no JSON object: %w", err)
	}
	if f.values == nil {
		return nil, errors.New("a message is no JSON object")
	}
	return f, nil
}

func (f *fields) has(name string) bool {
	_, ok := f.values[name]
	return ok
}

func (f *fields) fail(name, why string) {
	if f.err == nil {
		f.err = fmt.Errorf("%q is %s", name, why)
	}
}

// number is a field within bounds, 0 where it is absent.
func (f *fields) number(name string, least, most float64) float64 {
	raw, ok := f.values[name]
	if !ok {
		return 0
	}
	var v *float64
	if err := json.Unmarshal(raw, &v); err != nil || v == nil {
		f.fail(name, "no number")
		return 0
	}
	if !(*v >= least && *v <= most) || math.IsInf(*v, 0) {
		f.fail(name, fmt.Sprintf("%g, not within %g and %g", *v, least, most))
		return 0
	}
	return *v
}

// integer is a whole number; what stands behind the point is cut off, as
// iperf3's JSON library does.
func (f *fields) integer(name string, least, most int64) int64 {
	raw := f.values[name]
	var v *int64
	if json.Unmarshal(raw, &v) == nil && v != nil { // exact beyond 2^53
		if *v < least || *v > most {
			f.fail(name, fmt.Sprintf("%d, not within %d and %d", *v, least, most))
			return 0
		}
		return *v
	}
	// The largest double below 2^63 keeps the conversion defined.
	return int64(f.number(name, float64(least), min(float64(most), math.Nextafter(1<<63, 0))))
}

// orUnknown is an integer from -1 up. iperf3 3.12 (and perhaps others) writes -1
// without its sign, as a double: 1.8446744073709552e+19.
func (f *fields) orUnknown(name string, most int64) int64 {
	var v *float64
	if json.Unmarshal(f.values[name], &v) == nil && v != nil && *v == 1<<64 {
		return -1
	}
	return f.integer(name, -1, most)
}

// truth is a switch: true, or a number that is not 0, which is what iperf3
// itself sends for some of its switches.
func (f *fields) truth(name string) bool {
	raw, ok := f.values[name]
	if !ok {
		return false
	}
	var v *bool
	if json.Unmarshal(raw, &v) == nil && v != nil {
		return *v
	}
	return f.number(name, -math.MaxFloat64, math.MaxFloat64) != 0
}

func (f *fields) text(name string) string {
	raw, ok := f.values[name]
	if !ok {
		return ""
	}
	var v *string
	if err := json.Unmarshal(raw, &v); err != nil || v == nil {
		f.fail(name, "no text")
		return ""
	}
	return *v
}

// need fails where one of the names is absent.
func (f *fields) need(names ...string) {
	for _, name := range names {
		if !f.has(name) {
			f.fail(name, "missing")
		}
	}
}
