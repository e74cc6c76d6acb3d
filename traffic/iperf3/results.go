package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// results is what one end tells the other after a test.
type results struct {
	CPUTotal       float64         `json:"cpu_util_total"` // per cent
	CPUUser        float64         `json:"cpu_util_user"`
	CPUSystem      float64         `json:"cpu_util_system"`
	HasRetransmits int             `json:"sender_has_retransmits"` // -1: only receives
	Congestion     string          `json:"congestion_used,omitempty"`
	OutputText     string          `json:"server_output_text,omitempty"`
	OutputJSON     json.RawMessage `json:"server_output_json,omitempty"`
	Own            *ownResult      `json:"windtunnel,omitempty"`
	Streams        []streamResult  `json:"streams"`
}

// streamResult is one stream by this end's figures. Bytes, Retransmits and
// Jitter are those after what is omitted; Errors and Packets are totals, with
// the omitted part told beside them.
type streamResult struct {
	ID             int     `json:"id"`
	Bytes          uint64  `json:"bytes"`
	Retransmits    int64   `json:"retransmits"` // -1: unknown
	Jitter         float64 `json:"jitter"`      // seconds
	Errors         int64   `json:"errors"`
	OmittedErrors  int64   `json:"omitted_errors"`
	Packets        int64   `json:"packets"`
	OmittedPackets int64   `json:"omitted_packets"`
	StartTime      float64 `json:"start_time"`
	EndTime        float64 `json:"end_time"` // seconds since what is omitted ended

	// tellsOmitted is false for peers before 3.14, which do not tell the omitted part.
	tellsOmitted bool
}

// The bounds of what a peer may tell, per cent and seconds, and of the rate that follows from it, bit/s: beyond what any end measures,
// and so that sums of them are still numbers.
const (
	mostTold = 1e12
	mostRate = 1e24
)

// readResults takes a peer's message apart; the ids must be those of the test.
func readResults(body []byte, ids map[int]bool) (results, error) {
	f, err := parseFields(body)
	if err != nil {
		return results{}, err
	}
	f.need("cpu_util_total", "cpu_util_user", "cpu_util_system", "sender_has_retransmits", "streams")
	r := results{
		CPUTotal: f.number("cpu_util_total", -mostTold, mostTold),
		CPUUser:  f.number("cpu_util_user", -mostTold, mostTold), CPUSystem: f.number("cpu_util_system", -mostTold, mostTold),
		HasRetransmits: int(f.orUnknown("sender_has_retransmits", 1)),
		Congestion:     f.text("congestion_used"), OutputText: f.text("server_output_text"), OutputJSON: f.values["server_output_json"],
	}
	if f.err != nil {
		return results{}, f.err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(f.values["streams"], &list); err != nil {
		return results{}, errors.New(`"streams" is no list`)
	}
	if r.Own, err = readOwn(f.values["windtunnel"]); err != nil {
		return results{}, fmt.Errorf("windtunnel: %w", err)
	}
	seen := map[int]bool{}
	for _, raw := range list {
		s, err := readStreamResult(raw)
		if err != nil {
			return results{}, fmt.Errorf("streams: %w", err)
		}
		if !ids[s.ID] || seen[s.ID] {
			return results{}, fmt.Errorf("stream %d is not one of the test's, or stands there twice", s.ID)
		}
		seen[s.ID] = true
		r.Streams = append(r.Streams, s)
	}
	if len(seen) < len(ids) { // what is not told is not 0
		return results{}, fmt.Errorf("it tells of %d streams; the test has %d", len(seen), len(ids))
	}
	return r, nil
}

// endEarlier takes a wait in which nothing moved off the streams' times, which are at least as long as the other end's:
// the clocks of both ends begin a little apart.
func (r *results) endEarlier(wait, least time.Duration) {
	for i := range r.Streams {
		s := &r.Streams[i]
		if s.EndTime > 0 { // an end before 3.2 does not tell it
			s.EndTime = s.StartTime + max(least.Seconds(), s.EndTime-s.StartTime-wait.Seconds())
		}
	}
}

func readStreamResult(body []byte) (streamResult, error) {
	f, err := parseFields(body)
	if err != nil {
		return streamResult{}, err
	}
	f.need("id", "bytes", "retransmits", "jitter", "errors", "packets")
	if f.has("omitted_errors") != f.has("omitted_packets") {
		f.fail("omitted_errors", "given without omitted_packets, or the other way round")
	}
	s := streamResult{
		ID: int(f.integer("id", 1, 2*MaxParallel+1)), Bytes: uint64(f.integer("bytes", 0, math.MaxInt64)),
		Retransmits: f.orUnknown("retransmits", math.MaxInt64), Jitter: f.number("jitter", 0, mostTold),
		Errors: f.integer("errors", math.MinInt64, math.MaxInt64), OmittedErrors: f.integer("omitted_errors", math.MinInt64, math.MaxInt64),
		Packets: f.integer("packets", 0, math.MaxInt64), OmittedPackets: f.integer("omitted_packets", 0, math.MaxInt64),
		StartTime: f.number("start_time", 0, math.MaxFloat64), EndTime: f.number("end_time", 0, math.MaxFloat64),
		tellsOmitted: f.has("omitted_packets"),
	}
	switch took := s.EndTime - s.StartTime; {
	case s.OmittedPackets > s.Packets:
		f.fail("omitted_packets", fmt.Sprintf("%d, of %d in all", s.OmittedPackets, s.Packets))
	case took < 0:
		f.fail("end_time", fmt.Sprintf("%g, before start_time", s.EndTime))
	case rate(s.Bytes, took) > mostRate:
		f.fail("end_time", fmt.Sprintf("%g, too short for %d bytes", s.EndTime, s.Bytes))
	}
	return s, f.err
}
