package result

// LatencyAt is one cell's latency at a share of what arrived when its load went as fast as it could:
// of the frames themselves, from when they left to when they were counted. The load is the total of
// the cell's pairs, in Unit.
type LatencyAt struct {
	Record string        `json:"record"`
	Cell   string        `json:"cell"`
	Unit   string        `json:"unit"`
	At     SearchLatency `json:"at"`
}
