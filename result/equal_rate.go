package result

// EqualRate is one trial of a cell at a rate that every cell of its ceiling gets: what they cost there tells them apart.
type EqualRate struct {
	Record        string  `json:"record"`
	Cell          string  `json:"cell"`
	Ceiling       Ceiling `json:"ceiling"`                   // which the cells share
	BitsPerSecond float64 `json:"bits_per_second,omitempty"` // of payload, asked of all of the cell's pairs together
	Share         float64 `json:"share,omitempty"`           // of what the slowest of the cells received as fast as it could
	Trial         *Trial  `json:"trial,omitempty"`           // its blocks count from 1; nil: it was not measured
	Reason        string  `json:"reason,omitempty"`          // why not
}
