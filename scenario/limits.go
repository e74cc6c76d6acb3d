package scenario

import "time"

// What one suite may hold. The limits are far above what a person writes and
// low enough that no text, however odd, takes more than a second or two.
const (
	maxText    = 1 << 20 // bytes
	maxTokens  = 40_000  // the YAML parser's time grows with the square of a mapping's keys
	maxNesting = 16
	maxScalar  = 4096 // bytes
	maxErrors  = 20

	maxNodes      = 16
	maxCells      = 1000 // after the matrix
	maxAxes       = 8
	maxPairs      = 64 // a cell
	maxRatios     = 1000
	maxHypotheses = 200
	maxFeatures   = 32
	maxExec       = 64 // words
	maxComparison = 32 // in one predicate

	maxName      = 64 // bytes, of a suite, a cell or a hypothesis
	maxPlaceName = 15 // bytes, of a node or a container: Linux names a device in 15 (IFNAMSIZ)

	minMTU = 576 // what every IPv4 host must take (RFC 791, section 3.1)
	maxMTU = 65535

	minWindow = 100 * time.Millisecond
	maxWindow = 10 * time.Minute
	maxQueues = 1024
	maxCPUs   = 4096
)

// MinBudget and MaxBudget bound the time that a run may be given, by a suite or by who starts it.
const (
	MinBudget = 5 * time.Second
	MaxBudget = 24 * time.Hour
)
