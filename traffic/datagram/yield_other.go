//go:build !linux

package datagram

import "runtime"

func yield() { runtime.Gosched() }
