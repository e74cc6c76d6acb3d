package offload

// Given is a rule that a device was asked to take.
type Given struct {
	Rule
	Taken          bool
	Why            string // it was not, or is no more
	Packets, Bytes uint64 // of frames as they came, since it was
}
