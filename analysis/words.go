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
	if w, ok := metricWords[m]; ok {
		return w
	}
	return stats.Words{Less: "less", More: "more", As: "as much"}
}

var (
	rateWords = stats.Words{Less: "slower", More: "faster", As: "as fast"}
	costWords = stats.Words{Less: "less CPU per KiB", More: "more CPU per KiB", As: "as much CPU per KiB"}
	sizeWords = stats.Words{Less: "smaller packets", More: "larger packets", As: "as large packets"}

	metricWords = map[result.Metric]stats.Words{
		result.ReceivedRate:       rateWords,
		result.SentRate:           rateWords,
		result.SenderCost:         costWords,
		result.ReceiverCost:       costWords,
		result.TogetherCost:       costWords,
		result.WirePacketSize:     sizeWords,
		result.EndpointPacketSize: sizeWords,
		result.WirePacketRate:     {Less: "fewer packets", More: "more packets", As: "as many packets"},
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
