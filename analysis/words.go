package analysis

import (
	"strconv"

	"windtunnel/result"
	"windtunnel/stats"
)

// Words are how a metric's differences read.
func Words(m result.Metric) stats.Words {
	if m.CPUNode() != "" {
		return stats.Words{Less: "less CPU", More: "more CPU", As: "as much CPU"}
	}
	if m.IsLatency() {
		return stats.Words{Less: "less latency", More: "more latency", As: "as much latency"}
	}
	if w, ok := metricWords[m]; ok {
		return w
	}
	return stats.Words{Less: "less", More: "more", As: "as much"}
}

var (
	rateWords   = stats.Words{Less: "slower", More: "faster", As: "as fast"}
	costWords   = stats.Words{Less: "less CPU per KiB", More: "more CPU per KiB", As: "as much CPU per KiB"}
	packetWords = stats.Words{Less: "less CPU per packet", More: "more CPU per packet", As: "as much CPU per packet"}
	sizeWords   = stats.Words{Less: "smaller packets", More: "larger packets", As: "as large packets"}

	metricWords = map[result.Metric]stats.Words{
		result.ReceivedRate:       rateWords,
		result.SentRate:           rateWords,
		result.SenderCost:         costWords,
		result.ReceiverCost:       costWords,
		result.TogetherCost:       costWords,
		result.WirePacketSize:     sizeWords,
		result.EndpointPacketSize: sizeWords,
		result.WirePacketRate:     {Less: "fewer packets", More: "more packets", As: "as many packets"},
		result.ReceivedPacketRate: rateWords,
		result.SentPacketRate:     rateWords,
		result.TransactionRate:    rateWords,
		result.Loss:               {Less: "less loss", More: "more loss", As: "as much loss"},
		result.LatePackets:        {Less: "fewer late packets", More: "more late packets", As: "as many late packets"},
		result.Reordered:          {Less: "less reordering", More: "more reordering", As: "as much reordering"},
		result.Duplicates:         {Less: "fewer duplicates", More: "more duplicates", As: "as many duplicates"},
		result.Corrupt:            {Less: "less corruption", More: "more corruption", As: "as much corruption"},
		result.Jitter:             {Less: "less jitter", More: "more jitter", As: "as much jitter"},
		result.SenderPacketCost:   packetWords,
		result.ReceiverPacketCost: packetWords,
		result.TogetherPacketCost: packetWords,
		result.DevicePacketCost:   packetWords,
		result.DeviceCycles:       {Less: "fewer cycles per packet", More: "more cycles per packet", As: "as many cycles per packet"},
		result.PacketsPerCore:     rateWords,
		result.PacketsPerBusyCore: {Less: "fewer packets per busy second", More: "more packets per busy second", As: "as many packets per busy second"},
		result.LineShare10G:       rateWords,
		result.LineShare40G:       rateWords,
		result.FoundRate:          rateWords,
		result.Retransmits:        {Less: "fewer retransmits", More: "more retransmits", As: "as many retransmits"},
	}
)

// percent writes a share: 0.052 is "5.2 %".
func percent(share float64) string {
	digits := 1
	if share >= 0.0995 || share == 0 {
		digits = 0
	}
	return strconv.FormatFloat(share*100, 'f', digits, 64) + " %"
}
