//go:build !linux

package ntttcp

const (
	bookkeeping  = 1
	bufferAdvice = ""
)
