//go:build !linux

package iperf3

func reno() string { return "" }
