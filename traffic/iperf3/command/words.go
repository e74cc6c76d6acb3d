package command

import (
	"context"
	"errors"
	"net"
	"strings"

	"windtunnel/traffic/iperf3"
)

// The ends of a test in the words for which scripts look (iperf_strerror of
// iperf 3.21); what else is known stands after them.
var (
	endsInWords = []struct {
		end   error
		words string
	}{
		{iperf3.ErrAccessDenied, "the server is busy running a test. try again later"},
		{iperf3.ErrControlClosedUnsaid, "control socket has closed unexpectedly: " + iperf3.ErrControlClosedUnsaid.Error()},
		{iperf3.ErrControlClosed, "control socket has closed unexpectedly"},
		{iperf3.ErrNothingReceived, "idle timeout for receiving data"},
	}
	numbersInWords = map[int]string{
		iperf3.ErrorTotalRate:       "total required bandwidth is larger than server limit",
		iperf3.ErrorMaxDuration:     "client's requested duration exceeds the server's maximum permitted limit",
		iperf3.ErrorDurationExpired: "server test duration expired",
		iperf3.ErrorMessage:         "received an unknown control message (ensure other side is iperf3 and not iperf)",
		iperf3.ErrorRecvParams:      "unable to receive parameters from client",
		iperf3.ErrorRecvResults:     "unable to receive results",
		iperf3.ErrorAuth:            "test authorization failed",
		iperf3.ErrorNoMessage:       "idle timeout for receiving data",
		iperf3.ErrorSetCongestion:   "unable to set TCP_CONGESTION",
		iperf3.ErrorSetMSS:          "unable to set TCP/SCTP MSS",
		iperf3.ErrorSetBuffer:       "unable to set socket buffer size",
		iperf3.ErrorBufferSize:      "socket buffer size not set correctly",
		iperf3.ErrorSetTOS:          "unable to set IP TOS",
		iperf3.ErrorSetPacing:       "unable to set socket pacing",
		iperf3.ErrorBindDevice:      "Unable to bind-to-device",
		iperf3.ErrorDontFragment:    "unable to set IP Do-Not-Fragment flag",
		iperf3.ErrorSetUserTimeout:  "unable to set TCP USER_TIMEOUT",
		iperf3.ErrorAffinity:        "unable to set CPU affinity",
	}
)

const cannotConnect = "unable to connect to server"

func says(err error) string {
	for _, known := range endsInWords {
		if errors.Is(err, known.end) {
			return known.words
		}
	}
	var refused *iperf3.ServerError
	if errors.As(err, &refused) && numbersInWords[refused.Number] != "" {
		return numbersInWords[refused.Number] + ": " + err.Error()
	}
	var option *iperf3.OptionError
	if errors.As(err, &option) && numbersInWords[option.Number] != "" {
		return numbersInWords[option.Number] + ": " + option.Error()
	}
	if words := numbersInWords[iperf3.NumberOf(err)]; words != "" {
		return words + ": " + err.Error()
	}
	var dialed *net.OpError
	if errors.As(err, &dialed) && dialed.Op == "dial" {
		return cannotConnect + " - " + err.Error()
	}
	return err.Error()
}

// interrupted is how iperf3 calls an end by a signal, which stands in ctx's cause
// (signal.NotifyContext says "interrupt signal received").
func interrupted(ctx context.Context, who string) string {
	text := "interrupt - the " + who + " has terminated"
	cause := context.Cause(ctx)
	if cause == nil || cause == context.Canceled {
		return text
	}
	if signal, ok := strings.CutSuffix(cause.Error(), " signal received"); ok {
		return text + " by signal " + signal
	}
	return text + ": " + cause.Error()
}
