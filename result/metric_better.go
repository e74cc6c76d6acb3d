package result

import "slices"

// lessIsBetter are the metrics of which a user wants little, beside CPU use and latencies.
var lessIsBetter = []Metric{
	SenderCost, ReceiverCost, TogetherCost, SenderPacketCost, ReceiverPacketCost, TogetherPacketCost, DevicePacketCost, DeviceCycles,
	Retransmits, Loss, LatePackets, Reordered, Duplicates, Corrupt, Jitter, OutageTime,
}

// LessIsBetter reports whether a lower value of the metric is the better one.
func (m Metric) LessIsBetter() bool {
	return m.CPUNode() != "" || m.IsLatency() || slices.Contains(lessIsBetter, m)
}
