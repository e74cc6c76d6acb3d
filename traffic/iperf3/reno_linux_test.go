package iperf3

// reno is the congestion control that any user may take.
func reno() string { return "reno" }
