package iperf3

import "fmt"

// state is the byte by which both ends step through a test on the control
// connection (iperf_api.h of iperf 3.21; 3 and 5 to 8 are unused on the wire).
type state int8

const (
	testStart        state = 1
	testRunning      state = 2
	testEnd          state = 4
	paramExchange    state = 9
	createStreams    state = 10
	serverTerminate  state = 11
	clientTerminate  state = 12
	exchangeResults  state = 13
	displayResults   state = 14
	iperfDone        state = 16
	accessDenied     state = -1
	serverErrorState state = -2 // followed by two int32: iperf3's error number, errno
)

var stateNames = map[state]string{
	testStart: "TEST_START", testRunning: "TEST_RUNNING", testEnd: "TEST_END",
	paramExchange: "PARAM_EXCHANGE", createStreams: "CREATE_STREAMS",
	serverTerminate: "SERVER_TERMINATE", clientTerminate: "CLIENT_TERMINATE",
	exchangeResults: "EXCHANGE_RESULTS", displayResults: "DISPLAY_RESULTS",
	iperfDone: "IPERF_DONE", accessDenied: "ACCESS_DENIED", serverErrorState: "SERVER_ERROR",
}

// refuses tells whether a server says by it that there will be no test, or no more of it.
func (s state) refuses() bool {
	return s == accessDenied || s == serverTerminate || s == serverErrorState
}

func (s state) String() string {
	if name, ok := stateNames[s]; ok {
		return name
	}
	return fmt.Sprintf("state %d", int8(s))
}
